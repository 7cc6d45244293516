"""A state that was changed by hand: every number of it removed or replaced in turn is refused in one sentence, or does no harm."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import warnings
import zipfile

import numpy as np
import pytest
from searches import finish, one_torch_thread, quick_search

import stax
from run_folders import QUICK, checkpoints
from stax.cli.main import main
from stax.search.state import State
from toy_tasks import LevelsTask

REMOVED = object()
ODD_VALUES = (REMOVED, None, "x", -1, 10**30, float("nan"))
BUDGET = 260


PARTS = {"stax": ("space",), "aurora": ("container", "novelty_archive", "training_interval")}
"""Parts of the state of these methods that are changed; of others all parts."""


def search_like(algo):
    if algo == "aurora":
        return quick_search(
            algo, budget=BUDGET, chunk_size=30, container_size=20, container_refill=2, descriptor="ground-truth"
        )
    return quick_search(
        algo,
        LevelsTask(20),
        budget=BUDGET,
        seed=2,
        chunk_size=30,
        emitter_population=4,
        bootstrap_generations=2,
        emitter_kinds=("elitist", "cma-es"),
        scheduler="adaptive",
    )


@pytest.fixture(scope="module", params=["stax", "serene", "aurora"])
def state(request):
    """The last state of a search that is nearly done, as a file would hold it."""
    found = []

    finish(search_like(request.param), lambda search: found.append(copy.deepcopy(search.state())))
    last = found[-2]
    numbers = json.loads(json.dumps(last.numbers))
    assert numbers["retired"] or request.param in PARTS
    if request.param != "aurora":
        assert numbers["emitter_kinds"]
        assert numbers["emitter_turns"]
    return request.param, State(last.arrays, numbers)


def places(numbers, path=()):
    """Every place in the numbers; of a list its first and last entries."""
    entries = []
    if isinstance(numbers, dict):
        entries = list(numbers.items())
    elif isinstance(numbers, list) and numbers:
        entries = list({0: numbers[0], len(numbers) - 1: numbers[-1]}.items())
    for key, value in entries:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(numbers, path, value):
    numbers = copy.deepcopy(numbers)
    table = numbers
    for key in path[:-1]:
        table = table[key]
    if value is REMOVED:
        del table[path[-1]]
    else:
        table[path[-1]] = value
    return numbers


def take_up(algo, state):
    """Goes on to the end from a state; what a state must not contain is refused."""
    search = search_like(algo)
    try:
        search.restore(state)
    except stax.InvalidInputError as error:
        return "refused" if len(str(error)) < 1000 and "\n" not in str(error) else "refused at too great length"
    except Exception as error:
        return repr(error)
    try:
        finish(search)
    except Exception as error:
        # Weights that are numbers, but useless ones, are noticed when they are used.
        return "training failed" if re.search("codes or errors .*not finite", str(error)) else repr(error)
    # As the tables of a run are written at its end.
    columns = list(search.metrics[0])
    assert all(list(row) == columns for row in search.metrics)
    json.dumps([vars(record) for record in search.emitter_records()])
    return "done"


def numbers_to_change(algo, numbers):
    """All of one method without an autoencoder, and what others have besides."""
    return [path for path in places(numbers) if path[0] in PARTS.get(algo, numbers)]


def check_all(algo, wrong):
    """Tries all wrong states, by what is wrong with them; returns how many were refused."""
    assert take_up(algo, next(iter(wrong.values()))[0]) == "done"
    refused = 0
    for what, states in wrong.items():
        for state in states[1:]:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                outcome = take_up(algo, state)
                assert outcome in ("refused", "done", "training failed"), (what, outcome)
                refused += outcome == "refused"
    return refused


@one_torch_thread()
def test_every_number_of_a_state_may_be_wrong(state):
    algo, right = state
    paths = numbers_to_change(algo, right.numbers)
    wrong = {
        path: [right, *(State(right.arrays, changed(right.numbers, path, value)) for value in ODD_VALUES)] for path in paths
    }
    assert check_all(algo, wrong) > 3 * len(paths)


def spoilt(array):
    """An array as a forger may leave it."""
    if array.ndim:
        yield array[:-1]
    yield np.zeros(array.shape, np.int32)
    yield array[..., None]
    yield np.full_like(array, -1 if array.dtype.kind in "if" else 1)
    if array.dtype.kind == "i":
        yield np.full_like(array, np.iinfo(array.dtype).max)
    if array.dtype.kind == "f":
        yield np.full_like(array, np.nan)
        yield np.full_like(array, np.finfo(array.dtype).max)


@one_torch_thread()
def test_every_array_of_a_state_may_be_wrong(state):
    algo, right = state
    names = [name for name in right.arrays if algo not in PARTS or name.startswith(PARTS[algo])]
    wrong = {}
    for name in names:
        others = {other: array for other, array in right.arrays.items() if other != name}
        wrong[name] = [right, State(others, right.numbers)]
        if right.arrays[name].size:
            wrong[name] += [State({**others, name: array}, right.numbers) for array in spoilt(right.arrays[name])]
    assert check_all(algo, wrong) > len(names)


@pytest.mark.parametrize("key", ["evaluations", "coverage", "phase", "max_reward_1", "seconds_storage"])
def test_a_checkpoint_whose_metrics_lack_a_key_is_refused_in_one_sentence(key, tmp_path, capsys):
    folder, rests = tmp_path / "run", iter((False, False, True))
    with pytest.raises(stax.RunInterrupted):
        stax.run(
            "toy_tasks:SquareTask",
            algo="serene",
            budget=240,
            workers=1,
            out=folder,
            stop=lambda: next(rests),
            **QUICK,
        )
    path = folder / "checkpoints" / f"{checkpoints(folder)[-1]:012d}.npz"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    numbers = json.loads(members["state.json"])
    del numbers["search"]["metrics"][-1][key]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**members, "state.json": json.dumps(numbers).encode()}.items():
            archive.writestr(name, content)
    path.with_suffix(".sha256").write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    assert main(["resume", str(folder), "--trust"]) == 2
    said = capsys.readouterr().err
    assert f"has no {key}" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("algo", ["ns", "map-elites", "dns", "aurora"])
def test_a_state_without_parents_is_refused(algo):
    states = []
    finish(search_like(algo), lambda search: states.append(copy.deepcopy(search.state())))
    emptied = ("novelty_archive",) if algo in ("map-elites", "aurora") else ("population",)
    arrays = {name: array[:0] if name.startswith(emptied) else array for name, array in states[1].arrays.items()}
    with pytest.raises(stax.InvalidInputError, match=r"has no population|novelty archive is empty"):
        search_like(algo).restore(State(arrays, states[1].numbers))


def test_emitters_in_the_state_of_a_method_without_are_refused():
    """A state of serene, whose space is that of ns, has candidates or emitters that ns has no use for."""
    kept = []

    def keep(search):
        if not kept and (len(search.containers.candidates) or search.containers.emitters):
            kept.append(copy.deepcopy(search.state()))

    finish(search_like("serene"), keep)
    (state,) = kept
    with pytest.raises(stax.InvalidInputError, match="ns has no emitters"):
        search_like("ns").restore(state)

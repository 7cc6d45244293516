"""Numbers that nobody should give, and options that cannot be written down: one sentence each, and nothing is begun."""

from __future__ import annotations

import copy
import datetime
import json
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stax
from odd_tasks import SNAPSHOTS, FarTask, LoudTask, OptionsTask, SnapshotsTask
from run_folders import QUICK
from stax import RewardArea, Rollouts
from stax.cli.main import main
from stax.errors import InvalidInputError, in_one_line, shown
from stax.run_settings import RunSettings
from stax.runs.campaign import Campaign, read_campaign
from stax.runs.config import RUN_KEYS, make_config, read_config
from stax.search.parameters import Parameters
from stax.tasks.contract import check_task
from toy_tasks import SquareTask

TASK = "odd_tasks:OptionsTask"
SHORT = {**QUICK, "algo": "ns", "budget": 60, "workers": 1}


def refused(call, *words: str) -> str:
    """The one sentence that a call is refused with."""
    with pytest.raises(InvalidInputError) as error:
        call()
    said = str(error.value)
    assert "\n" not in said
    assert len(said) < 1500
    for word in words:
        assert word in said, said
    return said


# Options of tasks


OPTIONS = {
    "text": "lasers",
    "text none": "none",
    "texts like none": ("none", "\\none", "\\\\none", "nothing", "None"),
    "nothing": None,
    "nothing within": (None, {"a": None, "b": ("none", None)}),
    "date": datetime.date(2024, 2, 29),
    "moment": datetime.datetime(2024, 2, 29, 12, 30, 5, 123456),
    "moment with a zone": datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    "time": datetime.time(12, 30),
    "dates in a list": (datetime.date(2024, 2, 29), "none", 3),
    "not a number": math.nan,
    "infinite": (math.inf, -math.inf),
    "largest integers": (2**63 - 1, -(2**63)),
    "table": {"b": {"x": 1}, "a": 2, "c.d": "e"},
    "empty": ((), {}, ""),
    "control characters": "a\r\n\t\x00\x1b[31m\u2028b",
    "truth": (True, False),
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_an_option_comes_back_from_the_file_as_it_was_given(kind, tmp_path):
    value = OPTIONS[kind]
    result = stax.run(TASK, out=tmp_path / "run", **{"task.x": value}, **SHORT)
    config = make_config(*read_config(tmp_path / "run" / "config.toml"))
    assert repr(config.task_options) == repr({"x": value}) or config.task_options == {"x": value}
    assert config.differences(result.config) == []
    assert not result.config.task_given
    again = stax.load(tmp_path / "run", trust=True)
    assert repr(again.task.options["x"]) == repr(result.task.options["x"]) or again.task.options == result.task.options


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float64(0.5), 0.5),
        (np.int8(3), 3),
        (np.bool_(True), True),
        (np.arange(6).reshape(2, 3), ((0, 1, 2), (3, 4, 5))),
        ([1, [2.5, "a"]], (1, (2.5, "a"))),
        (np.array(["none", "b"]), ("none", "b")),
    ],
)
def test_numbers_of_numpy_reach_the_task_as_they_will_after_a_resume(value, plain, tmp_path):
    result = stax.run(TASK, out=tmp_path / "run", **{"task.x": value}, **SHORT)
    assert result.task.options == {"x": plain}
    assert stax.load(tmp_path / "run", trust=True).task.options == {"x": plain}


class Thing:
    def __repr__(self) -> str:
        return "thing " * 1000


ENDLESS: list = []
ENDLESS.append(ENDLESS)
UNWRITABLE = {
    "object": Thing(),
    "set": {1, 2},
    "bytes": b"abc",
    "complex": 1j,
    "path": Path("world.xml"),
    "large integer": 2**63,
    "huge integer": 10**6000,
    "longdouble": np.longdouble(1),
    "dates of NumPy": np.array(["2024-01-01"], "datetime64[D]"),
    "objects of NumPy": np.array([None, 1], object),
    "names that are no text": {1: "a"},
    "time with a zone": datetime.time(12, tzinfo=datetime.UTC),
    "zone of seconds": datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(seconds=30))),
    "broken text": "\ud800",
    "endless": ENDLESS,
    "object in a list": [1, [2, Thing()]],
}


@pytest.mark.parametrize("kind", UNWRITABLE)
def test_an_option_that_cannot_be_written_is_refused_before_anything_begins(kind, tmp_path):
    out = tmp_path / "run"
    refused(lambda: stax.run(TASK, out=out, **{"task.x": UNWRITABLE[kind]}, **SHORT), "task.x", "config.toml")
    refused(lambda: stax.run(TASK, out=out, **{"task.make.x": UNWRITABLE[kind]}, **SHORT), "task.make", "config.toml")
    assert not out.exists()


@pytest.mark.parametrize("kind", [kind for kind in UNWRITABLE if kind != "endless"])
def test_a_task_with_such_an_option_counts_as_given_as_an_object(kind, tmp_path):
    out, rests = tmp_path / "run", iter((False, True))
    task = stax.make_task(TASK, x=UNWRITABLE[kind], y="none")
    with pytest.raises(stax.RunInterrupted):
        stax.run(task, out=out, stop=lambda: next(rests), **SHORT)
    table = tomllib.loads((out / "config.toml").read_text())
    assert table["task_given"] is True
    assert table["parameters"]["task"] == {"y": "\\none"}
    refused(lambda: stax.resume(out, trust=True), "was given as an object", "task=...")
    other = stax.make_task(TASK, x=UNWRITABLE[kind], y="other")
    refused(lambda: stax.resume(out, task=other), "another than the run's own", "task.y")
    lacking = stax.make_task(TASK, x=UNWRITABLE[kind])
    refused(lambda: stax.resume(out, task=lacking), "task.y")
    assert stax.resume(out, task=task).status == "finished"


def test_a_task_that_got_an_array_is_not_made_again_with_a_tuple(tmp_path):
    result = stax.run(stax.make_task(TASK, x=np.arange(3)), out=tmp_path / "run", **SHORT)
    assert result.config.task_given
    plain = stax.run(stax.make_task(TASK, x=[1, 2, 3]), out=tmp_path / "plain", **SHORT)
    assert not plain.config.task_given


def test_a_resumed_task_must_be_described_as_the_first(tmp_path):
    out, rests = tmp_path / "run", iter((False, True))
    with pytest.raises(stax.RunInterrupted):
        stax.run(SquareTask(), out=out, stop=lambda: next(rests), **SHORT)
    task = SquareTask()
    task.genome_size, task.reward_areas = 7, (RewardArea("near", (0.3, 0.3), 0.6), SquareTask.reward_areas[1])
    refused(lambda: stax.resume(out, task=task), "genome_size", "reward_areas")
    assert stax.resume(out, task=SquareTask()).status == "finished"


def test_tables_may_be_written_in_another_order(tmp_path):
    """A table within a table is written last, wherever it was given."""
    out, rests = tmp_path / "run", iter((False, True))
    with pytest.raises(stax.RunInterrupted):
        stax.run(TASK, out=out, stop=lambda: next(rests), **{"task.make": {"deep": {"x": 1}, "y": math.nan}}, **SHORT)
    assert stax.resume(out, trust=True).status == "finished"


def test_earlier_files_are_still_read(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(
        'task = "redundant-arm"\n[parameters]\ndescriptor_samples = "none"\n[parameters.task]\nx = "none"\ny = [1, "none"]\n'
    )
    config = make_config(*read_config(file))
    assert config.task_options == {"x": None, "y": (1, None)}
    assert config.parameters.descriptor_samples is None


# What is written must be read


def test_options_too_large_for_the_file_are_refused_with_their_size(tmp_path):
    large = np.random.default_rng(0).normal(size=(512, 512))
    said = refused(lambda: stax.run(TASK, out=tmp_path / "run", **{"task.map": large}, **SHORT), "task.map", "1,000,000")
    assert re.search(r"takes \d,\d{3},\d{3} bytes", said)
    assert list(tmp_path.iterdir()) == []
    task = stax.make_task(TASK, map=large.tolist(), scale=2)
    result = stax.run(task, out=tmp_path / "run", **SHORT)
    assert result.config.task_given
    assert stax.load(tmp_path / "run", task=task).evaluations == 60


def test_a_configuration_too_large_altogether_leaves_no_folder(tmp_path):
    out = tmp_path / "run"
    refused(lambda: stax.run("odd_tasks:WideTask", out=out, **{"task.x": "y" * 990_000}, **SHORT), "1,048,576", "parameters")
    assert not out.exists()
    assert stax.run("odd_tasks:WideTask", out=out, **{"task.x": "y" * 700_000}, **SHORT).evaluations == 60
    assert stax.load(out, trust=True).evaluations == 60


@pytest.mark.parametrize(
    ("task", "parameters"),
    [("LoudTask", {}), ("SometimesLoudTask", {"on_failure": "discard", "max_failed_share": 1.0})],
)
def test_the_text_of_an_exception_is_cut(task, parameters, tmp_path, capsys):
    out = tmp_path / "run"
    given = {**QUICK, **parameters, "isolation": "none"}
    arguments = ["run", f"odd_tasks:{task}", "--algo", "ns", "--budget", "120", "--workers", "1", "--quiet", "--out", str(out)]
    code = main([*arguments, *(word for name, value in given.items() for word in ("--set", f"{name}={value}"))])
    said = capsys.readouterr().err
    assert len(said) < 5000
    if not parameters:
        assert code == 1
        assert "RuntimeError: no no" in said
        assert "..." in said
        return
    assert code == 0
    summary = (out / "summary.json").read_text()
    assert len(summary) < 50_000
    assert any(reason.startswith("RuntimeError: no no") for reason in json.loads(summary)["failed_evaluations"])
    assert stax.load(out, trust=True).status == "finished"


def test_an_exception_is_described_whatever_it_is():
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    assert in_one_line(MuteError()) == "MuteError: an exception without a message"
    assert len(in_one_line(ValueError("x" * 10**6))) < 600
    assert len(shown("x" * 10**6)) == 200
    assert shown(10**6000) == "a whole number of 19,932 bits"


# Rollouts


@pytest.mark.parametrize("kind", SNAPSHOTS)
def test_snapshots_are_numbers_that_can_be_kept(kind, tmp_path):
    task, out = SnapshotsTask(kind), tmp_path / "run"
    problems = [finding.problem for finding in check_task(task) if finding.problem]
    search = stax.make_search("ns", task, budget=60, **{name: QUICK[name] for name in ("population_size", "novelty_neighbors")})
    if kind in ("bool", "int8", "float16", "float64"):
        assert problems == []
        stax.run(task, out=out, **SHORT)
        assert stax.load(out, task=task).novelty_archive.snapshots.dtype == SNAPSHOTS[kind](np.zeros(1)).dtype
        search.tell(task.evaluate(search.ask()))
        return
    assert any("snapshots must be" in problem for problem in problems)
    refused(lambda: stax.run(task, out=out, **SHORT), "snapshots must be truth values, integers or floating-point numbers")
    refused(lambda: search.tell(task.evaluate(search.ask())), "snapshots must be truth values, integers or floating-point")
    assert not out.exists()


@pytest.mark.parametrize("wrong", [None, 1.0, np.float64(2), np.array(3.0), "reward", b"reward"])
@pytest.mark.parametrize("column", ["reward", "reward_area", "steps", "snapshots"])
def test_rollouts_are_arrays(column, wrong):
    columns = {"reward": np.zeros(2), "reward_area": np.zeros(2, int), "steps": np.ones(2, int), "snapshots": np.zeros((2, 1))}
    refused(lambda: Rollouts(**{**columns, column: wrong}), f"{column} of Rollouts must be an array")


@pytest.mark.parametrize("column", ["reward", "reward_area", "steps", "snapshots", "ground_truth"])
def test_ragged_arrays_of_rollouts_are_refused(column):
    search = stax.make_search("ns", SquareTask(), budget=60, population_size=2)
    told = search.task.evaluate(search.ask())
    ragged = Rollouts(**{**{name: values for name, values in vars(told).items() if values is not None}, column: [[1, 2], [3]]})
    refused(lambda: search.tell(ragged), column, "rows of different lengths")


@pytest.mark.parametrize("value", [1e200, -1e200, 1.8e308])
def test_ground_truth_beyond_all_distances_is_refused(value, tmp_path):
    out = tmp_path / "run"
    refused(lambda: stax.run(FarTask(), out=out, **SHORT), "ground_truth", "1e+100")
    assert not out.exists()
    task = SquareTask()
    task.ground_truth_bounds = ((-1.0, 1.0), (-abs(value), abs(value)))
    refused(lambda: stax.run(task, out=out, **SHORT), "ground_truth_bounds", "1e+100")
    assert not out.exists()


def test_rewards_beyond_all_sums_are_refused():
    search = stax.make_search("ns", SquareTask(), budget=60, population_size=2)
    told = search.task.evaluate(search.ask())
    large = Rollouts(np.full(2, 1e200), np.zeros(2, int), told.steps, told.snapshots, told.ground_truth)
    refused(lambda: search.tell(large), "reward", "at most 1e+100")


RAGGED = {
    "observations": lambda genomes: (genomes[:, 0], [[1.0, 2.0], [3.0]]),
    "rewards": lambda genomes: ([[1.0], [2.0, 3.0]], genomes),
    "nothing": lambda genomes: None,
    "no numbers": lambda genomes: (genomes[:, 0], [[None]]),
}


@pytest.mark.parametrize("kind", RAGGED)
@pytest.mark.parametrize("batch", [True, False])
def test_ragged_output_of_a_function_is_one_sentence(kind, batch):
    function = RAGGED[kind] if batch else lambda genome: RAGGED[kind](genome[None])
    refused(lambda: stax.FunctionTask(function, genome_size=2, batch=batch, name="f"), "Task 'f' must return")


def test_ragged_ground_truth_of_a_function_is_one_sentence():
    def function(genomes):
        return genomes[:, 0], genomes, [[1.0], [2.0, 3.0]]

    refused(lambda: stax.FunctionTask(function, genome_size=2, ground_truth_bounds=[(0, 1)], name="f"), "ground truth")


# Attributes of tasks


ATTRIBUTES = {
    "name": ["x" * 10**6, "a\nb", "\x1b[31mred", "", 7, None],
    "genome_size": [-1, 0, 1.5, True, 10**12, "6", None, math.nan],
    "genome_bounds": [(1, 1), (2, 1), (math.nan, 1), (0, math.inf), (-1e200, 1e200), (1,), 5, "ab", None, (True, 2)],
    "observation_samples": [0, -3, 10**9, 1.5, None, True],
    "observation_shape": [(), (0,), (10**12,), (10**5, 10**5, 3), (2.0,), 4, None, "4", (-1,)],
    "observation_dtype": ["float64", None, 3],
    "ground_truth_bounds": [
        *((), ((1.0, 1.0), (0.0, 1.0)), ((1.0, 0.0),), ((math.nan, 1.0),), ((0.0, math.inf),), ((-1e200, 1e200),)),
        *(((0, 1),) * 2000, 3, "ab", ((0, 1, 2),), ("ab",), (None,)),
    ],
    "reward_areas": [
        *((), "near", None, (RewardArea(""),), (RewardArea("x" * 10**6),), (RewardArea(3),), (RewardArea("a\x00"),)),
        *((RewardArea("a", (math.nan, 0.0), 0.5),), (RewardArea("a", (0.0, 0.0), math.nan),), (RewardArea("a", (0.0, 0.0), 0),)),
        *((RewardArea("a", (0.0, 0.0), -1),), (RewardArea("a", (0.0,), 1),), (RewardArea("a", 5, 1),)),
        *((RewardArea("a", ("x", "y"), 1),), (RewardArea("a", (1e200, 0), 1),), (RewardArea("a", (0, 0), 1e200),)),
        tuple(RewardArea(f"area {number}") for number in range(3000)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_what_check_task_refuses_is_refused_before_a_run_begins(name, tmp_path):
    for value in ATTRIBUTES[name]:
        task = SquareTask()
        setattr(task, name, value)
        found = check_task(task)
        assert [finding.what for finding in found] == ["attributes"], value
        assert 0 < len(found[0].problem) < 600
        said = refused(lambda task=task: stax.make_search("ns", task, budget=100))
        assert said.endswith(f"cannot be used: {found[0].problem}.")
        assert refused(lambda task=task: stax.run(task, out=tmp_path / "run", **SHORT)) == said
        assert list(tmp_path.iterdir()) == []


def test_an_attribute_that_raises_is_one_sentence():
    class Broken(SquareTask):
        @property
        def genome_size(self):
            raise OSError("the simulator is gone")

    refused(lambda: stax.make_search("ns", Broken(), budget=100), "Broken", "OSError: the simulator is gone")


def test_bounds_given_as_a_list_of_integers_can_be_resumed(tmp_path):
    task, out, rests = SquareTask(), tmp_path / "run", iter((False, True))
    task.genome_bounds = [-3, 3]
    with pytest.raises(stax.RunInterrupted):
        stax.run(task, out=out, stop=lambda: next(rests), **SHORT)
    assert stax.resume(out, task=task).status == "finished"


@pytest.mark.parametrize(
    "options",
    [
        *({"genome_size": size} for size in (-1, 0, 1.5, True, 10**12)),
        *({"genome_bounds": bounds} for bounds in ((1, 1), (2, 1), (math.nan, 1), (-1e200, 1e200), 5, None)),
        *({"ground_truth_bounds": bounds} for bounds in (5, [(0, 10**400)], [(1, 1)], [(0, math.nan)], "ab")),
        *({"observation_shape": shape} for shape in (5, (10**12,), (0,), None, "ab")),
        *({"observation_samples": samples} for samples in (0, 10**9, None)),
        *({"reward_areas": areas} for areas in (5, [RewardArea("a", (math.nan,))], ["x" * 10**6], [3])),
    ],
    ids=lambda options: repr(options)[:60],
)
def test_a_task_evaluated_elsewhere_is_checked_when_it_is_described(options):
    refused(lambda: stax.ExternalTask("robot", **{"genome_size": 4, "observation_shape": (2,), **options}))


# Parameters, settings and keys


TOO_LARGE = {
    **dict.fromkeys(
        (
            *("population_size", "offspring_per_parent", "novelty_neighbors", "archive_additions", "chunk_size"),
            *("emitter_population", "bootstrap_generations", "bandit_window", "grid_cells", "descriptor_samples", "code_size"),
            *("hidden_sizes", "batch_size", "max_epochs", "patience", "max_images_per_episode", "training_set_size"),
            *("validation_episodes", "reevaluations", "parents_per_generation", "dns_neighbors", "sequence_size"),
            *("container_size", "container_refill", "training_growth", "training_limit"),
        ),
        10**9 + 1,
    ),
    **dict.fromkeys(("mutation_sigma", "kl_weight", "learning_rate", "bandit_exploration"), 1e200),
    **dict.fromkeys(("iso_sigma", "line_sigma", "contrast_weight", "contrast_margin", "smoothing"), 1e200),
    **dict.fromkeys(("container_gain", "container_vat_factor"), 1e200),
    "genome_bounds": (-1e200, 1e200),
    "time_limit": 1e9,
    "checkpoint_seconds": 1e300,
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_every_number_has_a_largest_value(name, tmp_path):
    refused(
        lambda: stax.run(SquareTask(), out=tmp_path / "run", **{**SHORT, name: TOO_LARGE[name]}),
        name,
        f"not {TOO_LARGE[name]!r}",
    )
    refused(lambda: stax.run(SquareTask(), out=tmp_path / "run", **{**SHORT, name: 10**400}), name)
    assert list(tmp_path.iterdir()) == []


def test_every_number_is_tried_above():
    described = {**Parameters.described(), **RunSettings.described()}
    numbers = [name for name, description in described.items() if "number" in str(description.constraint)]
    limited = {
        "bootstrap_share",
        "exploration_share",
        "validation_share",
        "max_failed_share",
        "container_tolerance",
    }  # at most 1
    assert set(numbers) == set(TOO_LARGE) | limited


@pytest.mark.parametrize(
    ("key", "value"), [("budget", 2**62), ("budget", 10**400), ("seed", 2**63), ("seed", 10**400), ("workers", 10**9)]
)
def test_keys_of_a_run_have_largest_values(key, value, tmp_path):
    refused(lambda: stax.run(SquareTask(), out=tmp_path / "run", **{**SHORT, key: value}), key)
    if key != "workers":
        refused(lambda: stax.make_search("ns", SquareTask(), **{"budget": 100, key: value}), key)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"population_size": 10**6, "offspring_per_parent": 10_000, "budget": 10**7}, "generations"),
        ({"algo": "stax", "code_size": 10_000, "hidden_sizes": (10_000,)}, "weights"),
        ({"algo": "stax", "hidden_sizes": (10_000,) * 20}, "weights"),
    ],
)
def test_numbers_that_are_too_large_together(parameters, word):
    refused(lambda: stax.run(SquareTask(), **{**SHORT, **parameters}), word, "at most")


ODD_LEAVES = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.binary(max_size=4), st.complex_numbers()),
    st.sampled_from(
        [10**400, -(10**400), 2**62, 2**63, 1e308, "none", "", "\x00", np.int64(3), np.float32(2), np.bool_(True), np.array(3)]
    ),
    st.sampled_from([np.arange(3), np.array(["a"]), np.nan, float("inf"), object(), b"", range(3), {1}, np.empty((0, 2))]),
)
ODD = st.recursive(
    ODD_LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


def accepted_or_refused(call) -> bool:
    """Whether a call was accepted; all else than a refusal in one sentence is an error."""
    try:
        call()
    except InvalidInputError as error:
        if "\n" in str(error) or len(str(error)) > 3000:
            raise AssertionError(f"{len(str(error))} characters: {str(error)[:300]}") from None
        return False
    return True


@settings(max_examples=60, deadline=None)
@given(value=ODD)
def test_any_value_of_any_parameter_is_accepted_or_refused(value):
    for name in (*Parameters.described(), *RunSettings.described(), "task.x", "task.x.y", "no such"):
        accepted_or_refused(lambda name=name: make_config({"task": "redundant-arm"}, {name: value}))
    for key in (*RUN_KEYS, "no such"):
        accepted_or_refused(lambda key=key: make_config({"task": "redundant-arm", key: value}, {}))
    for name in (
        "algo",
        "preset",
        "budget",
        "seed",
        "device",
        "emitter_kinds",
        "scheduler",
        "autoencoder",
        "genome_bounds",
        "descriptor",
    ):
        accepted_or_refused(
            lambda name=name: stax.make_search(**{"algo": "ns", "task": SquareTask(), "budget": 200, name: value})
        )
    accepted_or_refused(lambda: stax.make_search("ns", value, budget=100))
    accepted_or_refused(lambda: stax.run(value, algo="ns", budget=0))


@settings(max_examples=60, deadline=None)
@given(value=ODD)
def test_any_value_of_any_attribute_is_accepted_or_refused(value):
    for name in ATTRIBUTES:
        task = SquareTask()
        setattr(task, name, value)
        accepted_or_refused(lambda task=task: stax.make_search("ns", task, budget=200))
    for name in (
        "name",
        "genome_size",
        "observation_shape",
        "observation_samples",
        "observation_dtype",
        "genome_bounds",
        "ground_truth_bounds",
        "reward_areas",
    ):
        options = {"name": "robot", "genome_size": 4, "observation_shape": (2,), name: value}
        accepted_or_refused(lambda options=options: stax.ExternalTask(**options))
    accepted_or_refused(lambda: stax.FunctionTask(lambda genomes: value, genome_size=2))


# Campaigns


GOOD = {"tasks": ["redundant-arm"], "algos": ["ns"], "seeds": 1, "budget": 200}


def toml(table) -> str:
    import tomli_w

    return tomli_w.dumps(table)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seeds": 10**9}, "seeds"),
        ({"seeds": 10**30}, "seeds"),
        ({"seeds": [2**63]}, "seeds"),
        ({"seeds": list(range(10_001))}, "10,000 runs"),
        ({"seeds": 6000, "algos": ["ns", "random"]}, "10,000 runs"),
        ({"budget": 2**62}, "budget"),
        ({"processes": 10**9}, "processes"),
        ({"workers": 10**9}, "workers"),
        ({"out": "a\x00b"}, "out"),
        ({"out": "x" * 10**5}, "out"),
        ({"overrides": [{"name": "x" * 500}]}, "name of override 1"),
        ({"overrides": [{"name": f"n{number}"} for number in range(2000)]}, "overrides"),
        ({"parameters": {"code_size": 2_000_000}}, "code_size"),
        ({"parameters": {"time_limit": 1e9}}, "time_limit"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_campaign_of_absurd_size_is_refused_at_once(changes, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(toml({**GOOD, **changes}))
    assert main(["campaign", "c.toml"]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1
    assert len(said) < 1000
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"]


TOML_LEAVES = st.one_of(
    *(st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.dates(), st.times()),
    st.sampled_from([10**400, 2**62, 1e308, "none", "", "\x00", "x" * 10_000]),
)
TOML = st.recursive(
    TOML_LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(value=TOML)
def test_any_value_of_any_key_of_a_campaign_is_accepted_or_refused(value, tmp_path_factory):
    file = tmp_path_factory.mktemp("campaign") / "c.toml"
    tables = [
        {**GOOD, key: value}
        for key in (
            *GOOD,
            "out",
            "preset",
            "device",
            "processes",
            "workers",
            "backend",
            "address",
            "parameters",
            "overrides",
            "x",
        )
    ]
    tables += [{**GOOD, "overrides": [{key: value}]} for key in ("name", "tasks", "algos", "budget", "preset", "parameters")]
    tables += [
        {**GOOD, "parameters": {name: value}}
        for name in ("code_size", "genome_bounds", "hidden_sizes", "emitter_kinds", "task")
    ]
    for table in tables:
        file.write_text(toml(table))
        accepted_or_refused(lambda: read_campaign(file))


def test_a_table_of_a_campaign_with_an_endless_field_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(toml({**GOOD, "out": "runs"}))
    Path("runs").mkdir()
    Path("runs/campaign.csv").write_text("folder,error\nx," + "y" * 200_000 + "\n")
    assert main(["campaign", "c.toml"]) == 2
    said = capsys.readouterr().err
    assert "runs/campaign.csv' is damaged" in said
    assert len(said.splitlines()) == 1


def test_what_a_campaign_writes_it_reads_again(tmp_path):
    file = tmp_path / "c.toml"
    file.write_text(toml({**GOOD, "out": str(tmp_path / "runs")}))
    campaign = read_campaign(file)
    (tmp_path / "runs").mkdir()
    campaign.runs[0].status, campaign.runs[0].error = "failed", "no " * 10**6
    campaign.write_table()
    again = copy.copy(campaign)
    assert isinstance(again, Campaign)
    again.look()
    assert again.runs[0].status == "failed"
    assert again.runs[0].error.startswith("no no")


# The command line


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "redundant-arm", "--seed", "9" * 5000],
        ["run", "redundant-arm", "--seed", str(2**63)],
        ["run", "redundant-arm", "--workers", "9" * 30],
        ["run", "redundant-arm", "--set", "time_limit=1e9"],
        ["run", "redundant-arm", "--set", "code_size=2000000"],
        ["run", "redundant-arm", "--set", f"task.threads={'9' * 5000}"],
        ["run", "redundant-arm", "--set", f"task.threads={2**64}"],
        ["reproduce", "--seeds", str(10**9)],
        ["replay", "nowhere", "9" * 5000],
        ["check-task", "redundant-arm", "--seed", "9" * 30],
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_absurd_numbers_of_the_command_line_are_one_line(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert len(said) < 1000
    assert list(tmp_path.iterdir()) == []


def test_loud_tasks_are_what_they_seem():
    with pytest.raises(RuntimeError):
        LoudTask().evaluate(np.zeros((1, 6)))
    assert OptionsTask(x=1).options == {"x": 1}

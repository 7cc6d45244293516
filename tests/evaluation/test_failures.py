"""Evaluations that fail: found by splitting, then the run is ended or they are discarded."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from moody_tasks import FragileTask, MoodyTask, some_genomes
from ways import WAYS, WITH_WORKERS, assert_same, cluster_for, ends_soon, evaluator, source

import stax
from stax import InvalidInputError, Rollouts
from stax.evaluation import TaskSource, make_evaluator
from stax.run_settings import RunSettings

REASONS = {
    "raise": r"ValueError: the arm fell off \(moody_tasks\.py, line \d+\)",
    "nan": "a reward that is negative, too large or not a number",
    "negative": "a reward that is negative, too large or not a number",
    "infinite truth": "a ground truth with too large numbers, infinity or nan in it",
    "reported": "reported by the task itself",
    "segfault": r"the worker died 3 times in a row \((SIGSEGV|ActorDiedError)\)",
    "leave": r"the worker died 3 times in a row \((exit code 3|ActorDiedError)\)",
}
LEFT_TO_THE_SEARCH = ("nan", "negative", "infinite truth")
DEADLY = ("segfault", "leave")
TIME_LIMIT = 2
"""Seconds; more than any call takes that does not hang, on a busy machine too."""


@pytest.fixture(scope="module")
def shared(request):
    """Evaluators whose workers are started once; errors do not harm them."""
    made = {}

    def get(way: str, on_failure: str):
        cluster_for(way, request)
        if (way, on_failure) not in made:
            # The cluster has three CPUs, and these keep theirs.
            workers = 1 if way == "ray" else 2
            made[way, on_failure] = evaluator(way, on_failure=on_failure, workers=workers)
        found = made[way, on_failure]
        found.restore_counts({"evaluations": 0, "failures": {}})
        return found

    yield get
    for one in made.values():
        one.close()


# In this process the deadly ones would end it; on Ray, where it takes long to start a worker, one of them is enough.
TROUBLE = [
    pytest.param(way, trouble, marks=pytest.mark.ray if way == "ray" else ())
    for way in ("own process", "processes", "ray")
    for trouble in REASONS
    if trouble not in {"own process": DEADLY, "processes": (), "ray": ("leave",)}[way]
]


@pytest.mark.parametrize(("way", "trouble"), [each for each in TROUBLE if each.values != ("ray", "segfault")])
def test_failures_end_the_run(way, trouble, shared):
    aborts = shared(way, "abort")
    genomes = some_genomes(8, at_5=trouble)
    if trouble in LEFT_TO_THE_SEARCH:
        rollouts = aborts.evaluate(genomes)
        assert_same(rollouts, MoodyTask().evaluate(genomes))
        return
    with pytest.raises(RuntimeError, match=rf"^Task 'moody' failed to evaluate [1248] polic(y|ies): {REASONS[trouble]}$"):
        aborts.evaluate(genomes)
    assert_same(aborts.evaluate(some_genomes(6)), MoodyTask().evaluate(some_genomes(6)))


def without(genomes: np.ndarray, failed: list[int]) -> Rollouts:
    """What is left when these fail."""
    sound = genomes.copy()
    sound[failed, 0] = 0
    rollouts = MoodyTask().evaluate(sound)
    return replace(rollouts, failed=np.isin(np.arange(len(genomes)), failed))


def assert_left(ours: Rollouts, genomes: np.ndarray, failed: list[int]) -> None:
    expected = without(genomes, failed)
    assert ours.failed is not None
    assert np.flatnonzero(ours.failed).tolist() == failed
    assert_same(ours.take(~ours.failed), expected.take(~expected.failed))


@pytest.mark.parametrize(("way", "trouble"), TROUBLE)
def test_only_the_guilty_are_discarded(way, trouble, shared):
    discards = shared(way, "discard")
    # Each death costs a new worker.
    count, failed = (3, [1]) if trouble in DEADLY else (11, [0, 1, 9])
    genomes = some_genomes(count, **{f"at_{place}": trouble for place in failed})
    assert_left(discards.evaluate(genomes), genomes, failed)
    ((reason, count),) = discards.failures.items()
    assert re.fullmatch(REASONS[trouble], reason)
    assert count == len(failed)
    assert discards.counts()["evaluations"] == len(genomes)


def test_a_call_that_takes_too_long_ends_the_run():
    with evaluator("processes", time_limit=TIME_LIMIT) as aborts:
        with pytest.raises(
            RuntimeError, match=r"^Task 'moody' failed to evaluate 1 policy: no answer within the time limit of 2 s$"
        ):
            aborts.evaluate(some_genomes(8, at_5="hang"))
        assert_same(aborts.evaluate(some_genomes(6)), MoodyTask().evaluate(some_genomes(6)))


@pytest.mark.parametrize("way", WITH_WORKERS)
def test_a_policy_that_takes_too_long_is_discarded(way, request, tmp_path):
    cluster_for(way, request)
    marker = tmp_path / "simulator"
    genomes = some_genomes(2, at_1="hang")
    task = source("MoodyTask", marker=str(marker))
    with evaluator(way, task, workers=1, time_limit=TIME_LIMIT, on_failure="discard") as discards:
        assert_left(discards.evaluate(genomes), genomes, [1])
        assert discards.failures == {"no answer within the time limit of 2 s": 1}
        assert discards.workers_replaced == 1
    if way == "processes":
        # Its worker was ended together with the simulator that the task had started there.
        assert ends_soon(int(marker.read_text()))


@pytest.mark.parametrize("way", ["own process", "processes"])
def test_several_reasons_in_one_batch(way, shared):
    discards = shared(way, "discard")
    genomes = some_genomes(30, at_2="raise", at_3="nan", at_17="infinite truth", at_29="reported")
    assert_left(discards.evaluate(genomes), genomes, [2, 3, 17, 29])
    assert sorted(discards.failures.values()) == [1, 1, 1, 1]


BROKEN = {
    "other length": r"\d genomes were asked for, but \d rollouts came back.",
    "other shape": r"Task 'moody' must return a ground_truth of shape \(\d, 2\) with finite numbers, not of shape \(\d, 1\).",
    "no rollouts": "Task 'moody' must return stax.Rollouts, not ndarray.",
    "other snapshots": r"Task 'moody' must return snapshots.*\(2, 4\).*not \(2, 1\)",
}


@pytest.mark.parametrize("trouble", BROKEN)
@pytest.mark.parametrize("on_failure", ["abort", "discard"])
@pytest.mark.parametrize("way", WAYS)
def test_a_broken_task_is_no_failed_evaluation(way, on_failure, trouble, shared):
    evaluates = shared(way, on_failure)
    evaluates.evaluate(some_genomes(2))
    with pytest.raises(InvalidInputError, match=BROKEN[trouble]):
        evaluates.evaluate(some_genomes(6, at_5=trouble))
    assert evaluates.failures == {}


def test_nan_ends_a_search_as_it_always_did():
    task = MoodyTask()
    search = stax.make_search("ns", task, budget=40, population_size=12)
    with make_evaluator(TaskSource(task), workers=1) as aborts:
        genomes = search.ask()
        genomes[3, 0] = some_genomes(1, at_0="nan")[0, 0]
        with pytest.raises(InvalidInputError, match="returned a reward of nan for policy 3 of 12"):
            search.tell(aborts.evaluate(genomes))


def troubled(count: int, share: float, trouble: str = "nan") -> np.ndarray:
    genomes = some_genomes(count)
    genomes[: round(share * count), 0] = some_genomes(1, at_0=trouble)[0, 0]
    return genomes


def test_too_many_failures():
    with evaluator("own process", on_failure="discard", max_failed_share=0.25) as discards:
        # Of few evaluations the share says little.
        discards.evaluate(troubled(50, 0.6))
        discards.evaluate(troubled(150, 0.1))
        sentence = (
            "Task 'moody': 60 of 215 evaluations failed, more than the allowed share of 0.25; the last reason: a reward that is"
            " negative, too large or not a number"
        )
        with pytest.raises(RuntimeError, match=f"^{re.escape(sentence)}$"):
            discards.evaluate(troubled(15, 1.0))


def test_too_many_failures_are_noticed_before_all_of_them_have_happened():
    calls = []
    task = MoodyTask()
    task.evaluate = lambda genomes: calls.append(len(genomes)) or MoodyTask.evaluate(task, genomes)
    with (
        make_evaluator(
            TaskSource(task), workers=1, settings=RunSettings(on_failure="discard", max_failed_share=0.1)
        ) as discards,
        pytest.raises(RuntimeError, match=r"21 of 200 evaluations failed, more than the allowed share of 0\.1; .*fell off"),
    ):
        discards.evaluate(troubled(200, 1.0, "raise"))
    assert len(calls) < 60


def test_a_first_batch_that_fails_altogether():
    with (
        evaluator("own process", on_failure="discard", max_failed_share=0.9) as discards,
        pytest.raises(RuntimeError, match=r"12 of 12 evaluations failed, more than the allowed share of 0\.9"),
    ):
        discards.evaluate(troubled(12, 1.0))


def test_all_may_fail_if_that_is_allowed():
    """A batch without any outcome; before the first outcome nobody knows what snapshots look like."""
    with evaluator("own process", on_failure="discard", max_failed_share=1) as discards:
        rollouts = discards.evaluate(troubled(5, 1.0, "raise"))
        assert rollouts.failed.all()
        assert rollouts.snapshots.shape == (5, 2, 4)
        assert rollouts.snapshots.dtype == np.float32
        assert np.isnan(rollouts.ground_truth).all()
        search = stax.make_search("ns", MoodyTask(), budget=40, population_size=5)
        with pytest.raises(RuntimeError, match="All 5 evaluations of the initial population failed"):
            search.tell(rollouts)


def test_reasons_beyond_number_are_counted_together():
    with evaluator("own process", on_failure="discard") as discards:
        discards.evaluate(troubled(50, 1.0, "name a number"))
        assert len(discards.failures) == 21
        assert discards.failures["other reasons"] == 30
        assert sum(discards.failures.values()) == 50


def test_a_time_limit_is_not_for_making_the_task():
    task = source("SlowToMakeTask", seconds=3)
    with evaluator("processes", task, workers=1, time_limit=TIME_LIMIT) as evaluates:
        assert len(evaluates.evaluate(some_genomes(2))) == 2
        assert evaluates.workers_replaced == 0


@pytest.mark.parametrize("algo", ["stax", "serene", "map-elites"])
def test_a_search_goes_on_without_those_that_fail(algo):
    """The whole way round: the same search wherever its policies are evaluated."""

    def finished(way):
        search = stax.make_search(
            algo,
            FragileTask(),
            budget=200,
            population_size=12,
            archive_additions=3,
            emitter_population=3,
            max_epochs=1,
            device="cpu",
        )
        with evaluator(way, source("FragileTask"), on_failure="discard") as discards:
            while not search.done:
                search.tell(discards.evaluate(search.ask()))
            failed = search.ledger.columns()["failed"]
            assert 0.1 < failed.mean() < 0.3
            assert sum(discards.failures.values()) == failed.sum()
        return search.ledger.columns()

    one, two = finished("own process"), finished("processes")
    for name, column in one.items():
        np.testing.assert_array_equal(column, two[name], err_msg=name)

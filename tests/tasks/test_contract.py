"""`check-task` finds what is wrong with a task, and says so in plain words."""

from __future__ import annotations

import pytest

import own_tasks
import stax
from stax.tasks.contract import check_task


def problems(task: stax.Task) -> dict[str, str]:
    return {finding.what: finding.problem for finding in check_task(task) if finding.problem}


def test_built_in_tasks_keep_the_contract(task):
    assert problems(task) == {}


@pytest.mark.parametrize(
    ("name", "options"), [("hard-maze", {"sensors": "published-code"}), ("redundant-arm", {"view": "end-effector"})]
)
def test_variants_keep_the_contract(name, options):
    assert problems(stax.make_task(name, **options)) == {}


def test_a_task_of_ones_own_keeps_the_contract():
    task = stax.make_task("own_tasks:PointTask")
    assert problems(task) == {}
    with pytest.raises(stax.InvalidInputError, match="cannot replay"):
        task.trajectory([0, 0, 0])
    with pytest.raises(stax.InvalidInputError, match="cannot be drawn"):
        task.render([0])


@pytest.mark.parametrize(
    ("name", "what", "words"),
    [
        ("NoisyTask", "same answer again", "differs when the same policies are evaluated twice"),
        ("CountingTask", "any order", "steps of policy"),
        ("BatchTask", "any batch size", "one at a time"),
        ("NanRewardTask", "rewards and reward areas", "reward must be finite, but policy 0 got nan"),
        ("WrongAreaTask", "rewards and reward areas", "reward_area must be -1 to 0, but there is 5"),
        ("WrongObservationTask", "observations", "must return the shape (24, 2, 5)"),
        ("WrongTypeTask", "observations", "must return uint8, as observation_dtype says, not float32"),
        ("MissingTruthTask", "ground truth", "rollouts have no ground_truth"),
        ("CarelessTask", "bad genomes refused", "given a genome with nan in it, evaluate did not raise"),
        ("MeddlingTask", "genomes left alone", "changes the array"),
        (
            "CrashingTask",
            "evaluate gives rollouts",
            "it raised RuntimeError: the simulator is not connected (own_tasks.py, line",
        ),
        ("NothingTask", "evaluate gives rollouts", "must return stax.Rollouts, not list"),
        ("NamelessTask", "attributes", "no attribute"),
        ("NamedAreaTask", "attributes", "reward_areas must hold stax.RewardArea objects, not 'goal'"),
        ("AreaWithoutRewardTask", "rewards and reward areas", "is not rewarded, but its reward_area is not -1"),
        ("TwinAreasTask", "attributes", "different names"),
        ("NumberNameTask", "attributes", "name must be text, not 7"),
        ("OutsideTask", "ground truth", "outside ground_truth_bounds"),
        ("FragileTask", "rewards and reward areas", "reward must be finite"),
        ("OverwritingTask", "observations", "observe changes the snapshots"),
        ("WanderingTask", "trajectory", "gives another answer when asked again"),
        ("FlatSnapshotsTask", "observations", "snapshots must begin with (24, 2) (policies, samples), not (24,)"),
    ],
)
def test_what_is_wrong_is_said(name, what, words):
    found = problems(getattr(own_tasks, name)())
    assert what in found, found
    assert words in found[what]


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((3,), "at least two whole numbers of at least 1, inputs first, not (3,)"),
        ([1, 2], "policy_sizes must be None or at least two whole numbers"),
        ((1, 0), "not (1, 0)"),
        ((2, 3), "policy_sizes (2, 3) take 7 numbers, but genome_size is 3"),
    ],
)
def test_policy_sizes_must_fit_the_genome(sizes, words):
    task = own_tasks.PointTask()
    task.policy_sizes = sizes
    assert words in problems(task)["attributes"]
    task.policy_sizes = (1, 2)  # 2 weights and a bias
    assert problems(task) == {}


def test_options_that_are_needed():
    with pytest.raises(stax.InvalidInputError, match="needs the option 'scale'"):
        stax.make_task("own_tasks:OptionTask")
    assert stax.make_task("own_tasks:OptionTask", scale=2.0).scale == 2.0
    assert stax.make_task("own_tasks:AnyOptionTask", colour="red").options == {"colour": "red"}


def test_untested_rewards_are_noted():
    findings = check_task(own_tasks.NeverTask())
    assert not any(finding.problem for finding in findings)
    assert any("none of the policies tried was rewarded" in finding.note for finding in findings)

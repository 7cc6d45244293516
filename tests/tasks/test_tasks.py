"""What must hold for every built-in task."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import event

import stax
from rollout_samples import NAMES, random_genomes
from stax.compiling import in_slices
from stax.tasks.task import RewardArea, Rollouts, area_rewards, check_genomes, sample_steps


def same(a: Rollouts, b: Rollouts) -> None:
    for name in ("reward", "reward_area", "steps", "ground_truth", "snapshots"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def test_shapes_and_types(task):
    rollouts = task.evaluate(random_genomes(task, 9))
    assert rollouts.reward.shape == rollouts.reward_area.shape == rollouts.steps.shape == (9,)
    assert rollouts.ground_truth.shape == (9, 2)
    assert rollouts.reward_area.dtype.kind == "i"
    pictures = task.observe(rollouts)
    assert pictures.shape == (9, 5, 64, 64, 3)
    assert pictures.dtype == np.uint8


@pytest.mark.parametrize(
    ("name", "genome_size", "areas", "horizon"),
    [("curling", 94, 2, 500), ("hard-maze", 63, 2, 2000), ("redundant-arm", 228, 3, 100)],
)
def test_the_papers_numbers(tasks, name, genome_size, areas, horizon):
    task = tasks[name]
    assert (task.genome_size, len(task.reward_areas), task.horizon) == (genome_size, areas, horizon)
    assert task.evaluate(random_genomes(task, 5)).steps.max() <= horizon


def test_batch_size_order_and_threads_do_not_matter(task):
    genomes = random_genomes(task, 70, seed=4)
    whole = task.evaluate(genomes)
    order = np.random.default_rng(0).permutation(len(genomes))
    same(whole.take(order), task.evaluate(genomes[order]))
    same(whole, Rollouts.concat([task.evaluate(genomes[i : i + 23]) for i in range(0, 70, 23)]))
    same(whole.take([5]), task.evaluate(genomes[5:6]))
    for threads in (1, 2, 3):
        other = stax.make_task(task.name, threads=threads)
        same(whole, other.evaluate(genomes))
        np.testing.assert_array_equal(task.observe(whole), other.observe(whole))


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(NAMES), st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 5.0]), st.integers(1, 40))
def test_outcomes_are_sound(name, seed, scale, count):
    task = stax.make_task(name)
    rollouts = task.evaluate(np.clip(random_genomes(task, count, seed, scale), -5, 5))
    low, high = np.array(task.ground_truth_bounds).T
    assert (rollouts.ground_truth >= low - 0.02).all()
    assert (rollouts.ground_truth <= high + 0.02).all()
    assert ((rollouts.reward > 0) == (rollouts.reward_area >= 0)).all()
    assert (rollouts.reward <= 1).all()
    assert (rollouts.steps >= 1).all()
    assert np.isfinite(rollouts.snapshots).all()


def test_extreme_genomes_are_survived(task):
    genomes = np.full((3, task.genome_size), [[1e6], [-1e6], [0.0]])
    rollouts = task.evaluate(genomes)
    assert np.isfinite(rollouts.ground_truth).all()


def test_trajectory_ends_where_the_rollout_ends(task):
    genomes = random_genomes(task, 4, seed=7)
    rollouts = task.evaluate(genomes)
    for i, genome in enumerate(genomes):
        states = task.trajectory(genome)
        assert len(states) == rollouts.steps[i] + 1
        np.testing.assert_array_equal(task._descriptor(states[-1:])[0], rollouts.ground_truth[i])
        steps = np.minimum(sample_steps(task.horizon, 5), rollouts.steps[i] - 1)
        np.testing.assert_array_equal(states[steps + 1, : task.snapshot_size].astype(np.float32), rollouts.snapshots[i])


def test_snapshots_are_small(task):
    assert task.evaluate(random_genomes(task, 1)).snapshots.nbytes <= 1024


def test_sample_steps_by_hand():
    assert sample_steps(500, 5).tolist() == [100, 200, 300, 400, 499]
    assert sample_steps(2000, 5).tolist() == [400, 800, 1200, 1600, 1999]
    assert sample_steps(100, 5).tolist() == [20, 40, 60, 80, 99]


def test_rewards_by_hand():
    areas = (RewardArea("a", (0.0, 0.0), 0.5), RewardArea("b", (2.0, 0.0), 1.0))
    points = np.array([[0.0, 0.0], [0.25, 0.0], [0.5, 0.0], [2.0, 0.75], [9.0, 9.0]])
    reward, index = area_rewards(points, areas)
    np.testing.assert_allclose(reward, [1.0, 0.5, 0.0, 0.25, 0.0])
    assert index.tolist() == [0, 0, -1, 1, -1]


def test_maze_sensor_variants_differ():
    genomes = random_genomes(stax.make_task("hard-maze"), 30)
    lasers = stax.make_task("hard-maze", sensors="lasers")
    published = stax.make_task("hard-maze", sensors="published-code")
    assert not np.array_equal(lasers.evaluate(genomes).ground_truth, published.evaluate(genomes).ground_truth)
    # At the start: measured and scaled, or the original's readings of open space.
    assert lasers.trajectory(genomes[0])[0, 3:].max() <= 1.0
    assert published.trajectory(genomes[0])[0, 3:].tolist() == [100, 100, 100, 0, 0]


def test_end_effector_view_shows_less():
    genomes = random_genomes(stax.make_task("redundant-arm"), 2)
    arm, end = (stax.make_task("redundant-arm", view=view) for view in ("arm", "end-effector"))
    rollouts = arm.evaluate(genomes)
    same(rollouts, end.evaluate(genomes))
    assert (arm.observe(rollouts) < 255).sum() > (end.observe(rollouts) < 255).sum()
    # People are shown the whole arm all the same.
    state = arm.trajectory(genomes[0])[-1]
    np.testing.assert_array_equal(arm.render(state, 100), end.render(state, 100))


def test_rollouts_take_and_concat(task):
    rollouts = task.evaluate(random_genomes(task, 6))
    mask = rollouts.steps > 0
    same(rollouts, rollouts.take(mask))
    same(rollouts, Rollouts.concat([rollouts.take(slice(0, 2)), rollouts.take([2, 3, 4, 5])]))


def test_no_rollouts_at_all(task):
    rollouts = task.evaluate(random_genomes(task, 3))
    for rows in ([], np.zeros(3, bool), slice(0, 0)):
        nothing = rollouts.take(rows)
        assert len(nothing) == 0
        assert task.observe(nothing).shape == (0, 5, 64, 64, 3)


def test_rollouts_of_another_task_cannot_be_observed(tasks):
    rollouts = tasks["curling"].evaluate(random_genomes(tasks["curling"], 2))
    with pytest.raises(stax.InvalidInputError, match=r"Snapshots of hard-maze have the shape \(2, 5, 3\), not \(2, 5, 4\)"):
        tasks["hard-maze"].observe(rollouts)


def test_rollouts_must_be_aligned(task):
    rollouts = task.evaluate(random_genomes(task, 3))
    with pytest.raises(stax.InvalidInputError, match="3 rewards but 2 rows of steps"):
        Rollouts(rollouts.reward, rollouts.reward_area, rollouts.steps[:2], rollouts.snapshots)
    with pytest.raises(stax.InvalidInputError, match="at least one"):
        Rollouts.concat([])
    without = Rollouts(rollouts.reward, rollouts.reward_area, rollouts.steps, rollouts.snapshots)
    for parts in ([rollouts, without], [without, rollouts]):
        with pytest.raises(stax.InvalidInputError, match="with and without ground_truth"):
            Rollouts.concat(parts)


BAD_GENOMES = [
    (lambda size: np.zeros((2, size + 1)), r"must have \d+ numbers a row, not \d+\."),
    (lambda size: np.zeros(size), r"2-D array \(n, \d+\).*, not of shape"),
    (lambda size: np.zeros((0, size)), r"at least one policy, not an empty batch of shape \(0, \d+\)"),
    (lambda size: np.full((2, size), "x"), r"floating-point numbers, not of dtype <U1"),
    (lambda size: np.full((2, size), True), r"floating-point numbers, not of dtype bool"),
    (lambda size: np.full((2, size), 1j), r"not of dtype complex128"),
    (lambda size: np.where(np.arange(2 * size).reshape(2, size) == size + 3, np.nan, 0), r"row 1 has nan at position 3"),
    (lambda size: np.where(np.arange(2 * size).reshape(2, size) == 2, -np.inf, 0), r"row 0 has -inf at position 2"),
    (lambda size: [[0.0] * size, [0.0] * (size - 1)], r"not rows of different lengths"),
]


@pytest.mark.parametrize(("make", "message"), BAD_GENOMES)
def test_bad_genomes_get_one_clear_sentence(task, make, message):
    with pytest.raises(stax.InvalidInputError, match=message) as caught:
        task.evaluate(make(task.genome_size))
    assert "\n" not in str(caught.value)


def test_genomes_of_other_number_types_are_taken(task):
    genomes = random_genomes(task, 3).astype(np.float32)
    same(task.evaluate(genomes), task.evaluate(genomes.astype(np.float64)))
    same(task.evaluate(np.asfortranarray(genomes)), task.evaluate(genomes))
    assert check_genomes(np.ones((1, 3), np.int8), 3).dtype == np.float64


def test_policies_of_a_loaded_archive_compile_nothing_again(task):
    genomes = random_genomes(task, 2)
    rollouts, states = task.evaluate(genomes), task.trajectory(genomes[0])
    genomes.flags.writeable = False
    with event.install_recorder("numba:compile") as compiled:
        same(task.evaluate(genomes), rollouts)
        np.testing.assert_array_equal(task.trajectory(genomes[0]), states)
    assert not compiled.buffer


BAD_TASKS = [
    (("nope",), {}, "There is no task 'nope'; there are curling, hard-maze, redundant-arm"),
    (("gym",), {}, "There is no task 'gym'"),
    (("gym:CartPol-v1",), {}, "There is no environment 'CartPol-v1'"),
    (("hard-maze",), {"name": "x"}, "has no option 'name'"),
    (("hard-maze",), {"sensors": ["lasers"]}, "must be one of 'lasers', 'published-code', not ['lasers']"),
    ((3,), {}, "must be text, not 3"),
    (("no_such_module:Thing",), {}, "names the module 'no_such_module', which cannot be found"),
    (("stax.tasks:Nothing",), {}, "names 'Nothing', which is not in the module 'stax.tasks'"),
    (("math:pi",), {}, "names 'pi', which is not a class or a function of the module 'math'"),
    (("collections:OrderedDict",), {}, "not a subclass of stax.Task"),
    (("own_broken_module:Thing",), {}, "cannot be imported: RuntimeError: no licence found"),
    (("own_tasks:OptionTask",), {"scale": None}, "cannot be made: TypeError"),
    (("stax:Task",), {}, "cannot be made: TypeError: Can't instantiate abstract class"),
    (
        ("hard-maze",),
        {"sensor": "lasers"},
        "has no option 'sensor'; it has sensors, sensor_noise, action_noise, seed, episodes, threads",
    ),
    (("hard-maze",), {"sensors": "radar"}, "must be one of 'lasers', 'published-code', not 'radar'"),
    (("redundant-arm",), {"view": 3}, "must be one of 'arm', 'end-effector', not 3"),
    (("curling",), {"threads": 0}, "threads must be a whole number of at least 1, not 0"),
]


@pytest.mark.parametrize(("arguments", "options", "message"), BAD_TASKS)
def test_bad_tasks_get_one_clear_sentence(arguments, options, message):
    with pytest.raises(stax.InvalidInputError) as caught:
        stax.make_task(*arguments, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_states_and_sizes(task):
    state = task.trajectory(random_genomes(task, 1)[0])[0]
    for bad, message in ((state[:-1], "finite numbers, not an array of shape"), (state * np.nan, "with nan or infinity")):
        with pytest.raises(stax.InvalidInputError, match=message):
            task.render(bad)
    for size in (0, 10.5, 10**6, True):
        with pytest.raises(stax.InvalidInputError, match="size must be a whole number from 16 to 8192"):
            task.render(state, size)
    assert task.render(state, np.int64(20)).shape == (20, 20, 3)
    with pytest.raises(stax.InvalidInputError, match="genome must be one row"):
        task.trajectory(np.zeros((1, task.genome_size)))
    with pytest.raises(stax.InvalidInputError, match="genome must be an array of numbers"):
        task.trajectory([[1.0], [1.0, 2.0]])
    with pytest.raises(stax.InvalidInputError, match="state must be an array of numbers, not 'abc'"):
        task.render("abc")
    with pytest.raises(stax.InvalidInputError, match=r"ends must have the shape \(n, 2\), not \(3,\)"):
        task.render(state, ends=[1, 2, 3])
    with pytest.raises(stax.InvalidInputError, match="trail must have the shape"):
        task.render(state, trail=np.zeros((3, 2)))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.integers(1, 5), st.integers(1, 64))
def test_slices_cover_everything_once(count, threads, grain):
    seen = np.zeros(count, int)
    sizes = []

    def work(rows: slice) -> None:
        seen[rows] += 1
        sizes.append(rows.stop - rows.start)

    in_slices(lambda rows: None, count, threads=1, grain=grain, what="nothing")
    in_slices(work, count, threads=threads, grain=grain, what="nothing")
    assert (seen == 1).all()
    assert max(sizes) <= grain

"""Results as pandas data frames, and policies back from them."""

from __future__ import annotations

import io

import numpy as np
import pandas
import pytest
from drawn_policies import some_policies
from hypothesis import given, settings
from hypothesis import strategies as st

import stax
from stax.search.policy_set import PolicySet
from stax.search.vocabulary import ORIGINS
from toy_tasks import NoTruthTask, SquareTask

ALL = [name for name in PolicySet.__dataclass_fields__ if name != "reward_spread"]


class ManyAreasTask(NoTruthTask):
    """Rewards whose area nobody can tell from where a policy ended."""


def same(a: PolicySet, b: PolicySet) -> None:
    for name, column in a.columns().items():
        other = getattr(b, name)
        assert column.shape == other.shape, name
        assert column.dtype == other.dtype, name
        np.testing.assert_array_equal(column, other, err_msg=name)


def test_columns_are_flat_and_named(result):
    frame = result.novelty_archive.to_pandas()
    assert list(frame.columns) == [
        *("id", "parent", "born", "origin", "emitter", "reward", "reward_area", "steps", "novelty", "surprise"),
        *("ground_truth_0", "ground_truth_1"),
        *(f"descriptor_{number}" for number in range(9)),
        *(f"genome_{number}" for number in range(6)),
    ]
    assert len(frame) == len(result.novelty_archive) > 10
    assert set(frame["origin"]) <= set(ORIGINS)
    row = frame[frame["id"] == result.novelty_archive.id[3]].iloc[0]
    assert row["genome_5"] == result.novelty_archive.genome[3, 5]
    assert row["origin"] == ORIGINS[result.novelty_archive.origin[3]]


def test_only_the_columns_asked_for(result):
    frame = result.novelty_archive.to_pandas(["reward", "ground_truth", "id"])
    assert list(frame.columns) == ["reward", "ground_truth_0", "ground_truth_1", "id"]
    with pytest.raises(stax.InvalidInputError, match="have no column 'rewards'; they have id, parent"):
        result.novelty_archive.to_pandas(["rewards"])


def test_a_frame_is_a_copy(result):
    before = result.novelty_archive.reward.copy()
    frame = result.novelty_archive.to_pandas()
    frame["reward"] += 1
    np.testing.assert_array_equal(result.novelty_archive.reward, before)


def test_all_tables_of_a_result_are_those_of_its_folder(result, out):
    frames = result.frames()
    assert list(frames) == ["novelty_archive", "reward_archive", "ledger", "metrics", "emitters"]
    pandas.testing.assert_frame_equal(frames["ledger"], pandas.read_parquet(out / "ledger.parquet"))
    for name in ("metrics", "emitters"):
        written = pandas.read_csv(out / f"{name}.csv", keep_default_na=name == "metrics")
        # Not every version of pandas reads the last digit of a number.
        pandas.testing.assert_frame_equal(frames[name], written, check_dtype=False, rtol=1e-14)
    assert len(frames["emitters"]) > 0
    assert frames["metrics"]["validation_error"].dtype == np.float64
    assert len(frames["reward_archive"]) == len(result.reward_archive) > 0


def test_a_loaded_result_has_the_same_tables(result, out):
    loaded = stax.load(out, trust=True).frames()
    for name, frame in result.frames().items():
        pandas.testing.assert_frame_equal(frame, loaded[name], check_dtype=name != "metrics")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 12), st.integers(0, 10**6), st.integers(0, 4))
def test_there_and_back_is_the_same(count, seed, descriptor_size):
    policies = some_policies(count, seed, descriptor_size)
    same(policies, PolicySet.from_pandas(policies.to_pandas(ALL), SquareTask()))


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10**6))
def test_there_and_back_by_a_csv_file(count, seed):
    policies = some_policies(count, seed)
    text = policies.to_pandas().to_csv(index=False)
    back = PolicySet.from_pandas(pandas.read_csv(io.StringIO(text)), SquareTask())
    for name in set(ALL) - {"snapshots"}:
        np.testing.assert_allclose(getattr(back, name), getattr(policies, name), rtol=1e-14, err_msg=name)
    assert back.snapshots.shape == (count, 3, 0)


def test_pictures_keep_their_shape():
    class PictureTask(SquareTask):
        observation_shape = (2, 2, 3)

        def evaluate(self, genomes):
            rollouts = super().evaluate(genomes)
            pictures = np.arange(len(rollouts) * 36, dtype=np.uint8).reshape(-1, 3, 2, 2, 3)
            return stax.Rollouts(rollouts.reward, rollouts.reward_area, rollouts.steps, pictures, rollouts.ground_truth)

    task = PictureTask()
    genome = np.random.default_rng(0).normal(size=(4, 6))
    made = PolicySet.newborn(
        task.evaluate(genome), first_id=0, genome=genome, parent=np.full(4, -1), born=0, origin=0, emitter=-1, descriptor_size=0
    )
    back = PolicySet.from_pandas(made.to_pandas(ALL), task)
    assert back.snapshots.dtype == np.uint8
    np.testing.assert_array_equal(back.snapshots, made.snapshots)


def test_what_is_missing_is_taken_for_not_known():
    policies = some_policies(40, 5)
    frame = policies.to_pandas(["genome", "reward", "ground_truth"])
    frame["cluster"] = "a column of my own"
    back = PolicySet.from_pandas(frame, SquareTask())
    assert back.id.tolist() == list(range(40))
    assert set(back.parent.tolist()) == set(back.emitter.tolist()) == {-1}
    assert np.isnan(back.novelty).all()
    assert back.descriptor.shape == (40, 0)
    # Two areas, told apart by where the policies ended.
    assert {0, 1} <= set(policies.reward_area.tolist())
    np.testing.assert_array_equal(back.reward_area, policies.reward_area)


def test_rows_chosen_in_pandas(result):
    frame = result.reward_archive.to_pandas(ALL).sort_values("reward", ascending=False).head(3)
    best = PolicySet.from_pandas(frame, result.task)
    np.testing.assert_array_equal(best.reward, np.sort(result.reward_archive.reward)[::-1][:3])
    np.testing.assert_array_equal(result.space.describe(best.rollouts()), best.descriptor)


def changed(**columns):
    frame = some_policies(8, 3).to_pandas(ALL)
    for name, values in columns.items():
        if values is None:
            frame = frame.drop(columns=name)
        else:
            frame[name] = values
    return frame


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ([1, 2], "must be a pandas DataFrame, not list"),
        (changed(reward=None), "has no reward, which policies of task 'square'"),
        (changed(genome_5=None), "has 5 columns of genome; there must be 6, genome_0 to genome_5"),
        (changed(genome_6=0.0), "has 7 columns of genome; there must be 6"),
        (changed(genome_5=None, genome_7=0.0), "has no column 'genome_5'"),
        (changed(genome_2="a"), "Column genome_2 of the frame must hold numbers"),
        (changed(genome_2=np.nan), "has nan as genome of the policy in row 0"),
        (changed(reward=-0.5), "has the reward -0.5; rewards must not be negative"),
        (changed(id=7), "has the id 7 8 times"),
        (changed(id=0.5), "Column id of the frame must hold integers, not 0.5"),
        (changed(parent=np.nan), "Column parent of the frame must hold integers, not nan"),
        (changed(origin="mutation"), "must be one of initial, exploration, bootstrap, emitter, not 'mutation'"),
        (changed(reward_area=2), "has a policy with an impossible reward_area"),
        (changed(ground_truth_0=None, ground_truth_1=None), "has no ground_truth"),
        (changed(ground_truth_1=np.inf), "has inf as ground_truth"),
        (
            changed(reward_area=None, reward=0.5, ground_truth_0=0.9, ground_truth_1=0.9),
            "is in no reward area of task 'square'",
        ),
        (changed(snapshots_0=1.0), "columns snapshots_... of the frame"),
        (changed(snapshots_1_2=None), "has 11 columns of snapshots; there must be 12"),
        (pandas.concat([changed(), changed()], axis=1), "has the column 'id' twice"),
    ],
)
def test_frames_that_are_no_policies(frame, words):
    with pytest.raises(stax.InvalidInputError) as raised:
        PolicySet.from_pandas(frame, SquareTask())
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_rewards_whose_area_nobody_knows():
    frame = some_policies(30, 5).to_pandas(["genome", "reward"])
    with pytest.raises(stax.InvalidInputError, match=r"must have reward_area.*'no-truth'"):
        PolicySet.from_pandas(frame, ManyAreasTask())
    frame["reward"] = 0.0
    assert set(PolicySet.from_pandas(frame, ManyAreasTask()).reward_area) == {-1}

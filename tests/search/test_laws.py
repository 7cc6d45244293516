"""What must hold in every run of every method, watched step by step."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from searches import (
    DOMINATED_NOVELTY,
    GIVEN,
    LEARNED,
    METHODS,
    WITH_EMITTERS,
    dominated_novelty_by_definition,
    finish,
    novelty_by_definition,
    quick_search,
    stale,
    watch,
)

from stax.search.emitters.emitter import emitter_improvement, history_window, stagnates
from stax.search.policy_set import PolicySet
from stax.search.selection import select
from stax.search.vocabulary import Origin
from toy_tasks import LevelsTask, NoTruthTask, SquareTask

WITHOUT_SELECTION = ("map-elites", "aurora", "random")
DRAWN_PARENTS = ("map-elites", "aurora", *DOMINATED_NOVELTY)
"""Methods whose parents are drawn from the archive."""
SETTINGS = {
    "several generations a chunk": {"budget": 700, "chunk_size": 60},
    "a generation is more than a chunk": {"budget": 501, "chunk_size": 10, "population_size": 20, "emitter_population": 3},
    "three offspring": {"budget": 640, "chunk_size": 100, "population_size": 7, "offspring_per_parent": 3, "seed": 3},
}


class Seen(SimpleNamespace):
    """What was seen of a run; named briefly, since pytest shows it when a test fails."""

    def __repr__(self) -> str:
        return "a run"


@pytest.fixture(scope="module", params=[(algo, name) for algo in METHODS for name in SETTINGS], ids=lambda pair: "-".join(pair))
def run(request):
    """A run of a method, and what was seen of it."""
    algo, name = request.param
    seen = Seen(stale=[], explorations=0, trained_after=[], chunks=0, kept_by_emitters=[])

    def look(search):
        seen.explorations += search.phase in ("exploration", "training")
        if search.training_episodes > len(seen.trained_after):
            seen.trained_after.append(seen.explorations)
        seen.chunks += 1
        seen.stale.append(stale(search))
        for emitter in search.containers.emitters:
            seen.kept_by_emitters.append([float(rewards.max()) for rewards in emitter.history])
            seen.kept_by_emitters.append([float(rewards.min()) for rewards in emitter.history])

    search = quick_search(algo, **SETTINGS[name])
    seen.steps = watch(search, look)
    seen.search, seen.algo, seen.ledger = search, algo, search.ledger.columns()
    return seen


def test_the_budget_is_spent_exactly(run):
    budget = run.search.budget
    assert run.search.evaluations == budget == sum(len(step.genomes) for step in run.steps)
    for name, column in run.ledger.items():
        assert len(column) == budget, name
    assert run.ledger["id"].tolist() == list(range(budget))
    assert run.search.budget_left == 0


def test_batches_have_the_sizes_of_the_algorithms(run):
    parameters = run.search.parameters
    parents = {"initial population": 1, "exploration": parameters.offspring_per_parent}
    for step in run.steps[:-1]:
        if step.phase in parents:
            wanted = {parameters.population_size * parents[step.phase]}
        elif step.phase == "bootstrap":
            wanted = {parameters.emitter_population, parameters.emitter_population * parameters.offspring_per_parent}
        else:
            wanted = {parameters.emitter_population * parameters.offspring_per_parent}
        assert len(step.genomes) in wanted, step.phase
    assert run.steps[0].phase == "initial population"


def test_phases_keep_to_their_share_of_a_chunk(run):
    """A phase begins no batch once its share is used up, and ends before only if there is nothing left to do."""
    chunk = run.search.parameters.chunk_size
    share = {"exploration": chunk, "bootstrap": chunk / 3, "emitters": 2 * chunk / 3}
    emitters, spent, finished = run.ledger["emitter"], Counter(), set()
    for before, step in zip(run.steps, run.steps[1:], strict=False):
        here = (step.chunk, step.phase)
        # Within its bootstrap an emitter is not cut; any other batch begins only while the share lasts.
        if step.phase != "bootstrap" or emitters[before.first_id] != emitters[step.first_id]:
            assert spent[here] < share[step.phase]
        assert here not in finished
        if here != (before.chunk, before.phase):
            finished.add((before.chunk, before.phase))
        spent[here] += len(step.genomes)
    last = (run.steps[-1].chunk, run.steps[-1].phase)
    explored = [evaluations for here, evaluations in spent.items() if here[1] == "exploration" and here != last]
    assert len(explored) >= 2
    assert min(explored) >= chunk


def test_genomes_are_within_bounds_and_never_asked_for_twice(run):
    genomes = np.concatenate([step.genomes for step in run.steps])
    assert np.abs(genomes).max() <= 5
    assert len(np.unique(genomes, axis=0)) == len(genomes)


def test_the_ledger_says_what_the_task_said(run):
    rollouts = SquareTask().evaluate(np.concatenate([step.genomes for step in run.steps]))
    for name in ("reward", "reward_area", "ground_truth"):
        np.testing.assert_array_equal(run.ledger[name], getattr(rollouts, name))
    for area in range(2):
        rewards = rollouts.reward[rollouts.reward_area == area]
        assert run.search.max_reward[area] == max(rewards, default=0.0)
    cells = np.clip(np.floor((rollouts.ground_truth + 1) / 2 * 50), 0, 49)
    assert run.search.coverage == len(np.unique(cells, axis=0)) / 2500


def test_origin_emitter_and_parent_agree(run):
    ledger, records = run.ledger, {record.id: record for record in run.search.emitter_records()}
    phases = {
        "initial population": Origin.INITIAL,
        "exploration": Origin.EXPLORATION,
        "bootstrap": Origin.BOOTSTRAP,
        "emitters": Origin.EMITTER,
    }
    for step in run.steps:
        assert (ledger["origin"][step.ids] == phases[step.phase]).all()
        assert len(set(ledger["emitter"][step.ids])) == 1
        parents = ledger["parent"][step.ids]
        emitter = int(ledger["emitter"][step.first_id])
        if step.phase == "initial population" or run.algo == "random":
            assert (parents == -1).all()
        else:
            assert (parents >= 0).all()
            assert (parents < step.first_id).all()
        if emitter < 0:
            assert step.phase in ("initial population", "exploration")
        else:
            assert step.phase in ("bootstrap", "emitters")
            own = (parents == records[emitter].ancestor) | (ledger["emitter"][parents] == emitter)
            assert own.all()
        if step.phase == "exploration" and run.algo != "random":
            assert np.isin(ledger["origin"][parents], (Origin.INITIAL, Origin.EXPLORATION)).all()


def test_parents_of_exploration_are_the_population_each_with_its_offspring(run):
    wanted = run.search.parameters.offspring_per_parent
    for step in run.steps:
        if step.phase == "exploration" and run.algo not in (*WITHOUT_SELECTION, *DRAWN_PARENTS):
            expected = np.repeat(step.population.id, wanted)[: len(step.genomes)]
            assert run.ledger["parent"][step.ids].tolist() == expected.tolist()
        elif step.phase == "exploration" and run.algo in DRAWN_PARENTS:
            assert np.isin(run.ledger["parent"][step.ids], step.novelty_archive.id).all()


def test_the_novelty_archive_grows_by_the_additions(run):
    if run.algo in ("map-elites", "aurora"):
        pytest.skip("its archive is a grid or a container")
    if run.algo in DOMINATED_NOVELTY:
        for step in run.steps:
            assert step.after["novelty_archive"].id.tolist() == step.after["population"].id.tolist()
        return
    additions = run.search.parameters.archive_additions
    for step in run.steps[:-1]:
        before = step.novelty_archive.id.tolist() if step.novelty_archive else []
        after = step.after["novelty_archive"].id.tolist()
        assert after[: len(before)] == before
        new = after[len(before) :]
        if step.phase == "exploration":
            assert len(new) == additions
            assert set(new) <= set(step.ids.tolist())
        elif step.phase == "emitters" and len(step.alive_after) < len(step.alive):
            ended = set(step.alive) - set(step.alive_after)
            assert len(new) <= additions
            assert {int(number) for number in run.ledger["emitter"][new]} <= ended
        else:
            assert new == []
    final = run.search.novelty_archive.policies.id.tolist()
    assert len(set(final)) == len(final)


def test_elites_are_the_best_of_their_cells(run):
    if run.algo != "map-elites":
        assert run.algo == "aurora" or len(run.search.novelty_archive) < run.search.evaluations / 2
        return
    best: dict[tuple, int] = {}
    cells = np.clip(np.floor((run.ledger["ground_truth"] + 1) / 2 * 50), 0, 49).astype(int)
    for number, cell in enumerate(map(tuple, cells.tolist())):
        if cell not in best or run.ledger["reward"][number] >= run.ledger["reward"][best[cell]]:
            best[cell] = number
    assert sorted(run.search.novelty_archive.policies.id.tolist()) == sorted(best.values())
    assert len(best) == round(run.search.coverage * 2500)


def test_the_novelty_of_exploration_is_that_of_the_definition(run):
    """Of parents and offspring alike, against both, and both archives as they were before the generation."""
    if run.algo in (*WITHOUT_SELECTION, *DOMINATED_NOVELTY):
        pytest.skip("it measures no novelty")
    neighbors, checked = run.search.parameters.novelty_neighbors, 0
    for step in run.steps:
        if step.phase != "exploration" or step.trainings_after > step.trainings:
            continue
        offspring, survivors = step.after["offspring"], step.after["population"]
        references = [step.population, offspring, step.novelty_archive, step.reward_archive]
        for part in (offspring, survivors):
            np.testing.assert_allclose(part.novelty, novelty_by_definition(part, references, neighbors), rtol=1e-9)
        checked += 1
    assert checked >= 3


def test_survivors_are_chosen_by_the_objectives_of_the_method(run):
    if run.algo in WITHOUT_SELECTION:
        pytest.skip("it has no population")
    objectives = {"ns": ["novelty"], "serene": ["novelty"], "moo-nr": ["novelty", "reward"]}.get(
        run.algo, ["novelty", "surprise"]
    )
    alternates = run.algo in ("taxons", "stax-alt-multi", "stax-alt-single")
    count, chosen = run.search.parameters.population_size, Counter()
    for step in run.steps:
        if step.phase != "exploration" or step.trainings_after > step.trainings:
            continue
        family = PolicySet.concat([step.population, step.after["offspring"]])
        references = [family, step.novelty_archive, step.reward_archive]
        survivors = set(step.after["population"].id.tolist())
        assert len(survivors) == count
        if run.algo in DOMINATED_NOVELTY:
            scores = dominated_novelty_by_definition(family, run.search.parameters.dns_neighbors)
            assert survivors == set(family.id[np.argsort(-scores, kind="stable")[:count]].tolist())
            continue
        family.novelty[:] = novelty_by_definition(family, references, run.search.parameters.novelty_neighbors)
        columns = {name: getattr(family, name) for name in objectives}
        assert all(np.isfinite(column).all() for column in columns.values())
        if alternates:
            by = [name for name in objectives if set(family.id[np.argsort(-columns[name])[:count]].tolist()) == survivors]
            assert by, "neither the most novel nor the most surprising survived"
            chosen.update(by if len(by) == 1 else [])
        else:
            rows = select(np.stack(list(columns.values()), axis=1), count)
            assert survivors == set(family.id[rows].tolist())
    if alternates and run.search.parameters.population_size == 12:
        assert chosen["novelty"], chosen
        assert chosen["surprise"], chosen


def test_rewarding_policies_of_exploration_become_candidates_once(run):
    ledger = run.ledger
    found = np.flatnonzero((ledger["reward"] > 0) & np.isin(ledger["origin"], (Origin.INITIAL, Origin.EXPLORATION))).tolist()
    taken = [record.ancestor for record in run.search.emitter_records()]
    waiting = run.search.containers.candidates.policies.id.tolist()
    assert len(found) > 0
    if run.algo in WITH_EMITTERS:
        assert sorted(taken + waiting) == found
        assert len(taken) >= 2
    else:
        assert taken == waiting == []
        assert set(ledger["origin"]) == {Origin.INITIAL, Origin.EXPLORATION}


def test_candidates_are_taken_most_novel_first(run):
    """Novelty with respect to the reward archive, in the descriptors of that moment."""
    if run.algo not in WITH_EMITTERS:
        pytest.skip("it has no emitters")
    # Without training the descriptors of all steps are the same.
    if run.algo not in ("serene", "stax-nt"):
        pytest.skip("descriptors change")
    neighbors = run.search.parameters.novelty_neighbors
    everyone = SquareTask().evaluate(np.concatenate([step.genomes for step in run.steps]))
    where = run.search.space.describe(everyone)
    records, archive, waiting = run.search.emitter_records(), [], set()
    expected_archive = iter_reward_archive(run)
    ledger = run.ledger
    for step, entered in zip(run.steps, expected_archive, strict=True):
        emitter = int(ledger["emitter"][step.first_id])
        if step.phase == "bootstrap" and records[emitter].born == step.first_id:
            ancestor = records[emitter].ancestor

            def novelty(number, archive=tuple(archive)):
                distances = np.sort(np.sqrt(((where[list(archive)] - where[number]) ** 2).sum(axis=1)))[:neighbors]
                return distances.mean() if len(distances) else np.inf

            assert novelty(ancestor) >= max(novelty(number) for number in waiting) - 1e-9
            waiting.remove(ancestor)
            archive.append(ancestor)
        archive += entered
        if step.phase in ("initial population", "exploration"):
            waiting |= set(step.ids[ledger["reward"][step.ids] > 0].tolist())


def iter_reward_archive(run) -> list[list[int]]:
    """Per step, who must enter the reward archive by the rule: offspring above the emitter's best so far."""
    best = {record.id: record.first_reward for record in run.search.emitter_records()}
    entered = []
    for step in run.steps:
        emitter = int(run.ledger["emitter"][step.first_id])
        if emitter < 0:
            entered.append([])
            continue
        rewards = run.ledger["reward"][step.ids]
        entered.append(step.ids[rewards > best[emitter]].tolist())
        best[emitter] = max(best[emitter], rewards.max())
    return entered


def reward_archive_follows_the_rule(run) -> None:
    """It holds ancestors, and what beat its emitter's best."""
    records = run.search.emitter_records()
    ancestors = [record.ancestor for record in records]
    expected = ancestors + [number for entered in iter_reward_archive(run) for number in entered]
    assert sorted(run.search.reward_archive.policies.id.tolist()) == sorted(expected)
    assert (run.search.reward_archive.policies.reward > 0).all()
    if run.algo in WITH_EMITTERS:
        assert len(expected) > len(ancestors)
    for record in records:
        own = run.ledger["reward"][run.ledger["emitter"] == record.id]
        assert record.first_reward == run.ledger["reward"][record.ancestor]
        assert record.best_reward == max(record.first_reward, own.max())


def test_the_reward_archive_holds_ancestors_and_what_beat_their_emitter_s_best(run):
    reward_archive_follows_the_rule(run)


def test_the_novelty_of_emitters_offspring_is_that_of_the_definition(run):
    """Each reference counts once, an ancestor still in the population too."""
    neighbors, checked = run.search.parameters.novelty_neighbors, 0
    for step in run.steps:
        if step.phase not in ("bootstrap", "emitters"):
            continue
        entered = step.after["reward_archive"].take(np.isin(step.after["reward_archive"].id, step.ids))
        references = [step.population, step.offspring, step.novelty_archive, step.reward_archive]
        expected = novelty_by_definition(entered, references, neighbors)
        np.testing.assert_allclose(entered.novelty, expected, rtol=1e-9)
        checked += len(entered)
    assert checked > 0 or run.algo not in WITH_EMITTERS


def histories(run) -> dict[int, list[np.ndarray]]:
    """The rewards of every emitter's population after each generation, from the ledger alone: the best so far survive."""
    size = run.search.parameters.emitter_population
    kept: dict[int, list[np.ndarray]] = {}
    for step in run.steps:
        emitter = int(run.ledger["emitter"][step.first_id])
        if emitter >= 0:
            before = kept.setdefault(emitter, [])
            both = np.concatenate([before[-1] if before else np.empty(0), run.ledger["reward"][step.ids]])
            before.append(np.sort(both)[::-1][:size])
    return kept


def test_emitters_keep_the_best_and_their_improvement_follows(run):
    records, kept = {record.id: record for record in run.search.emitter_records()}, histories(run)
    assert set(records) == set(kept) == set(range(run.search.containers.emitters.made))
    generations = run.search.parameters.bootstrap_generations
    for number, record in records.items():
        assert record.generations == len(kept[number])
        assert record.evaluations == (run.ledger["emitter"] == number).sum()
        assert record.improvement == pytest.approx(emitter_improvement(kept[number], generations))
    for emitter in run.search.containers.emitters:
        for own, expected in zip(emitter.history, kept[emitter.id], strict=True):
            np.testing.assert_array_equal(np.sort(own)[::-1], expected)
    for course in run.kept_by_emitters:
        assert course == sorted(course), "an elitist emitter's rewards fell"


def bootstraps_decide(run) -> None:
    """An emitter is kept after its bootstrap if it has improved."""
    parameters, kept = run.search.parameters, histories(run)
    origins = run.ledger["origin"]
    alive = {emitter.id for emitter in run.search.containers.emitters}
    for record in run.search.emitter_records():
        own = run.ledger["emitter"] == record.id
        bootstrap = (own & (origins == Origin.BOOTSTRAP)).sum()
        size, offspring = parameters.emitter_population, parameters.emitter_population * parameters.offspring_per_parent
        if record.generations < parameters.bootstrap_generations or run.steps[-1].ids[-1] in np.flatnonzero(own):
            continue  # the end of the budget cut it short
        assert bootstrap == size + (parameters.bootstrap_generations - 1) * offspring
        first = emitter_improvement(kept[record.id][: parameters.bootstrap_generations], parameters.bootstrap_generations)
        assert (record.ended_by == "no improvement") == (first <= 0)
        assert (record.id in alive) == (record.ended_by == "")


def test_emitters_are_kept_after_their_bootstrap_if_they_improve(run):
    bootstraps_decide(run)


def test_no_descriptor_is_stale(run):
    assert [old for old in run.stale if old] == []
    assert run.chunks == len(run.stale) == len(run.search.metrics)


def test_training_happens_after_one_three_six_and_ten_chunks_of_exploration(run):
    expected = [number * (number + 1) // 2 for number in range(1, 100)]
    if run.algo == "aurora":
        # After one, and then at gaps of 20, 30 and so on.
        expected = [5 * number * (number + 1) - 9 for number in range(1, 100)]
    if run.algo in GIVEN or run.algo == "stax-nt":
        expected = []
    expected = [chunk for chunk in expected if chunk <= run.explorations]
    assert run.trained_after == expected
    assert run.search.training_episodes == len(expected)
    assert run.algo not in LEARNED or run.explorations >= 3


def test_metrics_follow_the_run(run):
    rows = run.search.metrics
    assert rows[-1]["evaluations"] == run.search.budget
    assert rows[-1]["coverage"] == run.search.coverage
    assert [row["evaluations"] for row in rows] == sorted(row["evaluations"] for row in rows)
    assert (rows[-1]["max_reward_0"], rows[-1]["max_reward_1"]) == tuple(run.search.max_reward)
    assert rows[-1]["novelty_archive_size"] == len(run.search.novelty_archive)
    assert rows[-1]["reward_archive_size"] == len(run.search.reward_archive)
    assert rows[-1]["emitter_candidates"] == len(run.search.containers.candidates)
    assert rows[-1]["emitters"] == len(run.search.containers.emitters)
    exploring = [row for row in rows if row["phase"] == "exploration"]
    assert len(exploring) == run.explorations + 1
    assert ("exploitation" in {row["phase"] for row in rows}) == (run.algo in WITH_EMITTERS)


def test_random_genomes_are_one_long_first_population():
    """Each is a draw like the first ones, whatever the size of batches."""
    asked = []
    for options in ({"chunk_size": 60}, {"chunk_size": 200, "population_size": 7, "offspring_per_parent": 3}):
        steps = watch(quick_search("random", budget=400, seed=8, **options))
        asked.append(np.concatenate([step.genomes for step in steps]))
    np.testing.assert_array_equal(asked[0], asked[1])
    assert abs(asked[0].mean()) < 0.1
    assert asked[0].std() == pytest.approx(1, rel=0.05)


def test_random_search_needs_no_ground_truth():
    search, truth = (quick_search("random", task, budget=200, chunk_size=60) for task in (NoTruthTask(), SquareTask()))
    finish(search)
    finish(truth)
    assert search.coverage is None
    assert search.novelty_archive.policies.descriptor.shape == (len(search.novelty_archive), 0)
    np.testing.assert_array_equal(search.novelty_archive.policies.genome, truth.novelty_archive.policies.genome)


# Budgets that end anywhere


@pytest.mark.parametrize("algo", ["serene", "stax-nt"])
@pytest.mark.parametrize("phase", ["exploration", "bootstrap", "emitters"])
@pytest.mark.parametrize("part", ["one policy", "all but one", "the whole batch"])
def test_a_budget_that_ends_within_a_phase(algo, phase, part):
    """The run does what a longer one does, and stops in the middle of a batch."""
    long_run = watch(quick_search(algo, budget=600, chunk_size=60))
    # The second batch of that phase, so that neither its first nor its last is meant.
    step = [step for step in long_run[:-1] if step.phase == phase][1]
    size = {"one policy": 1, "all but one": len(step.genomes) - 1, "the whole batch": len(step.genomes)}[part]
    budget = step.first_id + size
    short = quick_search(algo, budget=budget, chunk_size=60)
    steps = watch(short)
    assert short.evaluations == len(short.ledger) == short.metrics[-1]["evaluations"] == budget
    assert steps[-1].phase == phase
    asked = np.concatenate([step.genomes for step in steps])
    np.testing.assert_array_equal(asked, np.concatenate([step.genomes for step in long_run])[:budget])


@pytest.mark.parametrize("algo", METHODS)
@pytest.mark.parametrize("budget", [12, 13, 35, 36, 37])
def test_the_smallest_budgets(algo, budget):
    search = quick_search(algo, budget=budget, chunk_size=100)
    finish(search)
    assert search.evaluations == len(search.ledger) == budget
    assert search.ledger.columns()["parent"][:12].tolist() == [-1] * 12


def test_an_emitter_that_the_budget_cuts_short_is_not_said_to_be_without_improvement():
    long_run = watch(quick_search("serene", budget=600, chunk_size=60))
    first = next(step for step in long_run if step.phase == "bootstrap")
    search = quick_search("serene", budget=first.first_id + 2, chunk_size=60)
    finish(search)
    (record,) = search.emitter_records()
    assert (record.evaluations, record.ended_by) == (2, "")


# Emitters from beginning to end


@pytest.fixture(scope="module")
def long_run():
    """Rewards in levels, so that emitters come to a standstill."""
    search = quick_search(
        "serene",
        LevelsTask(3),
        budget=12_000,
        chunk_size=2500,
        offspring_per_parent=1,
        archive_additions=2,
        bootstrap_generations=4,
        emitter_sigma="distance",
    )
    steps = watch(search)
    return Seen(search=search, steps=steps, ledger=search.ledger.columns(), algo="serene")


def test_emitters_end_when_they_stagnate_and_not_before(long_run):
    kept, window = histories(long_run), history_window(6, 6)
    bootstrap = long_run.search.parameters.bootstrap_generations
    by = Counter(record.ended_by for record in long_run.search.emitter_records())
    assert by["stagnation"] >= 2, by
    assert by["no improvement"] >= 2, by
    for record in long_run.search.emitter_records():
        course = kept[record.id]
        standstill = [stagnates(course[:length], window) for length in range(bootstrap + 1, len(course) + 1)]
        if record.ended_by == "stagnation":
            assert standstill[-1]
            assert not any(standstill[:-1])
        else:
            assert not any(standstill)


def test_equals_of_the_best_do_not_enter_the_reward_archive(long_run):
    reward_archive_follows_the_rule(long_run)


def test_emitters_of_a_long_run_are_kept_if_they_improve_in_their_bootstrap(long_run):
    bootstraps_decide(long_run)


def test_an_emitter_that_ends_gives_some_novelty_candidates_to_the_archive(long_run):
    given = 0
    for step in long_run.steps:
        before, after = step.novelty_archive, step.after["novelty_archive"]
        if step.phase == "emitters" and before is not None:
            new = after.id[len(before) :]
            ended = set(step.alive) - set(step.alive_after)
            assert len(new) <= 2 * len(ended)
            assert set(long_run.ledger["emitter"][new].tolist()) <= ended
            given += len(new)
    assert given > 0


def test_novelty_candidates_were_more_novel_than_all_before_them(long_run):
    """Whatever an emitter keeps for its novelty beats its ancestor, and later batches beat earlier ones."""
    batch_of = {number: index for index, step in enumerate(long_run.steps) for number in step.ids.tolist()}
    checked = 0
    for emitter in long_run.search.containers.emitters:
        candidates = emitter.novelty_candidates.policies
        highest = float(emitter.ancestor.novelty[0])
        for batch in sorted({batch_of[number] for number in candidates.id.tolist()}):
            rows = [row for row, number in enumerate(candidates.id.tolist()) if batch_of[number] == batch]
            assert candidates.novelty[rows].min() > highest
            highest = candidates.novelty[rows].max()
            checked += 1
        assert emitter.highest_novelty == highest
        assert (long_run.ledger["emitter"][candidates.id] == emitter.id).all()
    assert checked > 10


@pytest.mark.parametrize("emitter_novelty", ["all", "reward-archive"])
def test_the_emitter_that_runs_is_one_that_no_other_beats(emitter_novelty):
    search = quick_search("serene", budget=2500, chunk_size=90, emitter_novelty=emitter_novelty)
    chosen, several = None, 0

    def novelty(policy) -> float:
        sets = [search.reward_archive.policies]
        if emitter_novelty == "all":
            sets += [search.containers.population, search.containers.offspring, search.novelty_archive.policies]
        return float(novelty_by_definition(policy, sets, search.parameters.novelty_neighbors)[0])

    while not search.done:
        before = [
            (emitter.id, emitter.improvement, round(novelty(emitter.ancestor), 12)) for emitter in search.containers.emitters
        ]
        genomes = search.ask()
        phase, first = search.phase, search.evaluations
        search.tell(search.task.evaluate(genomes))
        if phase != "emitters":
            chosen = None
            continue
        number = int(search.ledger.columns()["emitter"][first])
        if number != chosen:
            own = next(row for row in before if row[0] == number)
            beaten = [row for row in before if row[1] >= own[1] and row[2] >= own[2] and row[1:] != own[1:]]
            assert beaten == []
            several += len(before) > 1
        chosen = number
    assert several >= 3


@pytest.mark.parametrize("share", [0.0, 1 / 3, 2 / 3, 1.0])
def test_the_bootstrap_step_has_its_share_of_a_chunk(share):
    search = quick_search("serene", budget=3000, chunk_size=90, bootstrap_share=share)
    spent, begun = Counter(), set()
    while not search.done:
        genomes = search.ask()
        phase, first, chunk = search.phase, search.evaluations, len(search.metrics)
        search.tell(search.task.evaluate(genomes))
        emitter = int(search.ledger.columns()["emitter"][first])
        if phase == "bootstrap" and emitter not in begun:
            begun.add(emitter)
            assert spent[chunk, phase] < share * 90
        if phase == "emitters":
            assert spent[chunk, phase] < (1 - share) * 90
        spent[chunk, phase] += search.evaluations - first
    phases = {phase for _, phase in spent} - {"initial population", "exploration"}
    # Without a bootstrap step there are no emitters to run.
    assert phases == {0.0: set(), 1.0: {"bootstrap"}}.get(share, {"bootstrap", "emitters"})


def test_a_frozen_population_stays_the_first_one_and_needs_no_surprise():
    search = quick_search("stax-nt", budget=400, preset="published-code", chunk_size=40)
    search.tell(search.task.evaluate(search.ask()))
    first = search.containers.population.id.tolist()
    while not search.done:
        search.tell(search.task.evaluate(search.ask()))
    assert search.containers.population.id.tolist() == first == list(range(12))
    assert len(search.novelty_archive) > 0
    parents = search.ledger.columns()["parent"][search.ledger.columns()["origin"] == 1]
    assert set(parents.tolist()) == set(first)
    assert np.isnan(search.containers.population.surprise).all() or not search.containers.population.surprise.any()
    assert not search.uses_surprise


def sigmas_follow(run, expected) -> None:
    """Every emitter's sigma is what is expected of the distance to the nearest of the population and offspring of its birth."""
    genomes = np.concatenate([step.genomes for step in run.steps])
    firsts = {step.first_id: step for step in run.steps if step.phase == "bootstrap"}
    for record in run.search.emitter_records():
        step = firsts[record.born]
        others = np.setdiff1d(np.concatenate([step.population.id, step.offspring.id]), [record.ancestor])
        nearest = np.sqrt(((genomes[others] - genomes[record.ancestor]) ** 2).sum(axis=1)).min()
        assert record.sigma == pytest.approx(expected(nearest))
        assert np.abs(step.genomes - genomes[record.ancestor]).max() < 6 * record.sigma
        assert (run.ledger["parent"][step.ids] == record.ancestor).all()


def test_sigma_of_every_emitter_follows_from_its_place(long_run):
    sigmas_follow(long_run, lambda nearest: nearest / 3)


def test_sigma_of_the_default_preset_is_smaller_by_the_root_of_the_genome_size(run):
    assert run.search.parameters.emitter_sigma == "length"
    sigmas_follow(run, lambda nearest: nearest / 3 / np.sqrt(6))


# The autoencoder


def test_emitters_need_the_encoder_alone(monkeypatch):
    decoded: Counter = Counter()
    encoded: Counter = Counter()
    search = quick_search("stax", budget=500, chunk_size=60)
    network = search.space.autoencoder

    def counted(half, counter):
        def call(values):
            counter.update([search.phase])
            return half(values)

        return call

    monkeypatch.setattr(network, "encode", counted(network.encode, encoded))
    monkeypatch.setattr(network, "decode", counted(network.decode, decoded))
    finish(search)
    assert {"initial population", "exploration", "training", "bootstrap", "emitters"} <= set(encoded)
    assert {"initial population", "exploration", "training"} == set(decoded)


def test_methods_of_one_observation_use_the_last_one():
    rollouts = SquareTask().evaluate(np.random.default_rng(0).normal(size=(4, 6)))
    seen = rollouts.snapshots.copy()
    seen[:, :-1] += 1
    other_start = type(rollouts)(rollouts.reward, rollouts.reward_area, rollouts.steps, seen, rollouts.ground_truth)
    for algo in ("stax-single", "stax-alt-single", "taxons"):
        space = quick_search(algo).space
        assert space.size == 3
        np.testing.assert_array_equal(space.describe(rollouts), space.describe(other_start))
    for algo in ("stax", "stax-alt-multi", "stax-nt", "stax-reset"):
        space = quick_search(algo).space
        assert space.size == 3 * 3
        assert (space.describe(rollouts) != space.describe(other_start)).any(axis=1).all()


def weights_at_chunks(algo: str) -> tuple[list[np.ndarray], list[int]]:
    """The first layer's weights after every chunk, and the number of training episodes by then; training hardly changes them."""
    weights, episodes = [], []

    def look(search):
        weights.append(search.space.autoencoder.encoder_layers[0].weight.detach().numpy().copy())
        episodes.append(search.training_episodes)

    finish(quick_search(algo, budget=250, chunk_size=20, emitters=False, learning_rate=1e-12), look)
    assert episodes[-1] >= 3
    return weights, episodes


def test_training_goes_on_from_the_weights_there_were():
    weights, _ = weights_at_chunks("stax")
    for later in weights[1:]:
        np.testing.assert_allclose(later, weights[0], atol=1e-6)


def test_reset_training_starts_from_new_weights():
    weights, episodes = weights_at_chunks("stax-reset")
    for before, after, first, second in zip(weights, weights[1:], episodes, episodes[1:], strict=False):
        if second > first:
            assert np.abs(after - before).max() > 0.01
        else:
            np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("algo", ["stax", "stax-reset"])
def test_the_optimiser_is_new_only_in_reset_training(algo):
    steps, spent = [], []

    def look(search):
        if search.training_episodes > len(steps):
            episode = search.space.last_episode
            spent.append(episode.epochs * -(-episode.images_seen // episode.epochs // search.parameters.batch_size))
            tensors = search.space.arrays()
            steps.append(int(tensors["optimizer.step.encoder_layers.0.weight"]))

    finish(quick_search(algo, budget=250, chunk_size=20, emitters=False, batch_size=16), look)
    assert len(steps) >= 3
    assert steps == (list(np.cumsum(spent)) if algo == "stax" else spent)


def test_training_sees_archives_population_and_offspring_each_once():
    seen = []

    def look(search):
        if search.training_episodes > len(seen):
            parts = (
                search.containers.population,
                search.containers.offspring,
                search.novelty_archive.policies,
                search.reward_archive.policies,
            )
            policies = {number for part in parts for number in part.id.tolist()}
            seen.append((search.space.last_episode.images, 3 * len(policies)))

    finish(quick_search("stax", budget=500, chunk_size=60), look)
    assert len(seen) >= 2
    for images, expected in seen:
        assert images == expected


def test_the_most_novel_may_enter_the_archive_instead_of_a_random_choice():
    steps = watch(quick_search("ns", budget=300, chunk_size=60, archive_selection="most-novel"))
    checked = 0
    for step in steps[:-1]:
        if step.phase == "exploration":
            offspring = step.after["offspring"]
            new = step.after["novelty_archive"].id[len(step.novelty_archive) :]
            assert set(new.tolist()) == set(offspring.id[np.argsort(-offspring.novelty)[:3]].tolist())
            checked += 1
    assert checked >= 5


def test_the_offspring_that_enter_the_archive_are_drawn_uniformly():
    places: Counter = Counter()
    search = quick_search("ns", budget=12 + 24 * 200, chunk_size=24)
    for step in watch(search)[1:]:
        places.update((step.after["novelty_archive"].id[len(step.novelty_archive) :] - step.first_id).tolist())
    # 200 generations draw 3 of 24 places: 25 each on the average, with a deviation below 5.
    assert sum(places.values()) == 600
    assert min(places.values()) > 5
    assert max(places.values()) < 50

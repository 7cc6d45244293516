"""Parameters: what is allowed, and the sentences for what is not."""

from __future__ import annotations

import re

import numpy as np
import pytest
from searches import finish, quick_search

import stax
from stax import InvalidInputError
from stax.search import METHODS
from stax.search.explorers.alternating import AlternatingExplorer
from stax.search.explorers.grid import GridExplorer
from stax.search.explorers.random import RandomExplorer
from stax.search.parameters import PRESETS, Parameters, make_parameters
from toy_tasks import NoTruthTask

WHOLE_FROM_ONE = (
    "offspring_per_parent",
    "novelty_neighbors",
    "archive_additions",
    "chunk_size",
    "code_size",
    "batch_size",
    "max_epochs",
    "patience",
)
WORDS_FROM_ONE = "a whole number from 1 to"
EDGES = [
    *((name, [1, 7, np.int64(3)], [0, -1, 1.0, 2.5, "3", True, None, [1]], WORDS_FROM_ONE) for name in WHOLE_FROM_ONE),
    ("population_size", [2], [1, 0, None, 2.0], "a whole number from 2 to 1,000,000"),
    ("emitter_population", [2], [1, False], "a whole number from 2 to 1,000,000"),
    ("bootstrap_generations", [2, 3], [1, None], "a whole number from 2 to 1,000,000"),
    ("grid_cells", [1, 1000], [0, 1001, 50.0], "a whole number from 1 to 1000"),
    ("mutation_sigma", [1e-300, 3], [0, 0.0, -1, float("nan"), float("inf"), True, None, "1"], "a number above 0"),
    ("parents_per_generation", [1, 256, None], [0, 2.5, True], "a whole number from 1 to 1,000,000, or none (every member"),
    ("selection", ["pareto", "dominated-novelty"], ["nsga2", None], "one of 'pareto', 'dominated-novelty'"),
    ("dns_neighbors", [1, 3, 10_000], [0, 10_001, 3.0, None], "a whole number from 1 to 10,000"),
    ("container_size", [2, 500], [1, 2.5, None], "a whole number from 2 to 1,000,000"),
    ("container_control", ["csc", "vat"], ["pid", None], "one of 'csc', 'vat'"),
    ("container_gain", [0.001, 0.5], [0, 0.6, None, float("nan")], "a number above 0 and at most 0.5"),
    ("container_refill", [1, 10], [0, 1.5, None], WORDS_FROM_ONE),
    ("container_tolerance", [0, 0.1, 1], [-0.1, 1.1, None], "a number from 0 to 1"),
    ("container_vat_factor", [0.5, 25], [0, -1, float("inf"), None], "a number above 0"),
    ("container_rewards", [True, False], [1, "true", None], "true or false"),
    ("training_growth", [1, 10], [0, 2.5, None], WORDS_FROM_ONE),
    ("training_limit", [1, 15_000, None], [0, 1.5], "a whole number from 1 to 1,000,000,000, or none (no limit)"),
    ("variation", ["gaussian", "iso-line"], ["line", "", 1, None], "one of 'gaussian', 'iso-line'"),
    ("iso_sigma", [1e-300, 3], [0, -1, float("nan"), None, "1"], "a number above 0"),
    ("line_sigma", [0, 0.05, 3], [-0.1, float("nan"), float("inf"), None], "a number from 0 to 1,000,000"),
    ("learning_rate", [1e-9, 1], [0, -0.1, float("nan"), float("inf")], "a number above 0"),
    ("kl_weight", [0, 0.5, 3], [-0.1, None, "1", float("nan"), float("inf")], "a number from 0 to 1,000,000"),
    (
        "hidden_sizes",
        [(8,), [64, 32, 16], (10_000,)],
        [(), 0, (8, 0), (8, 2.5), "8", (10_001,), None, (True,), ((8, 4), 2)],
        "1 to 20 values, each a whole number from 1 to 10,000",
    ),
    (
        "autoencoder",
        [
            "auto",
            "auto-principal",
            "convolutional",
            "dense",
            "variational",
            "triplet",
            "temporal",
            "spatial",
            "principal",
            "my.module:make",
            "module:Outer.Inner",
            "given:pair",
        ],
        ["deep", "module:", ":make", "a b:c", 7, None, ("auto",), "given:", "m:1"],
        "one of 'auto', 'auto-principal', 'convolutional', 'dense', 'variational', 'triplet', 'temporal', 'spatial', 'principal', or your own as 'module:name'",
    ),
    ("validation_share", [0.01, 0.9], [0, 0.91, 1, float("nan")], "a number above 0 and at most 0.9"),
    (
        "genome_bounds",
        [(-1, 1), [0.5, 2], None],
        [(1, 1), (2, 1), (1,), (1, 2, 3), 5, "12", ("a", "b"), (0, float("inf")), (float("nan"), 1)],
        "two numbers from -1e+30 to 1e+30, the lower one first, or none (the task's own",
    ),
    ("descriptor_samples", [1, None], [0, 1.5], "a whole number from 1 to 10,000, or none (all)"),
    (
        "max_images_per_episode",
        [100, None],
        [99, 0],
        "a whole number from 100 to 1,000,000,000, or none (no limit)",
    ),
    (
        "training_set_size",
        [100, None],
        [99, 0, 200.5],
        "a whole number from 100 to 1,000,000,000, or none (max_images_per_episode)",
    ),
    ("archive_selection", ["uniform", "most-novel"], ["novel", 1, None], "one of 'uniform', 'most-novel'"),
    ("emitter_sigma", ["distance", "length"], ["third", None], "one of 'distance', 'length'"),
    ("emitter_novelty", ["all", "reward-archive"], ["novelty-archive", 1, None], "one of 'all', 'reward-archive'"),
    ("bootstrap_share", [0, 1 / 3, 1], [-0.01, 1.01, float("nan"), "third", None], "a number from 0 to 1"),
    ("elite_replacement", ["not-worse", "better"], ["equal", True, None], "one of 'not-worse', 'better'"),
    ("reevaluations", [0, 1, 1000], [-1, 1001, 2.0, None, True], "a whole number from 0 to 1000"),
    ("population_update", ["selection", "frozen"], ["none", False, None], "one of 'selection', 'frozen'"),
    (
        "descriptor",
        ["learned", "ground-truth", "states", "none"],
        ["truth", 3],
        "one of 'learned', 'ground-truth', 'states', 'none'",
    ),
    (
        "emitter_kinds",
        [("elitist",), ["cma-es", "novelty"], ("sep-cma-es", "my_kinds:Widening"), ("given:test.<locals>.Mine",)],
        ["elite", (), "", ("elitist", "elitist"), (3,), 3, None, ("elitist:",), "a:b:c", ":x"],
        "1 to 100 different values, each one of 'elitist', 'cma-es', 'sep-cma-es', 'novelty', or your own as 'module:name'",
    ),
    ("emitter_choice", ["bandit", "uniform", "round-robin"], ["ucb", None, 1], "one of 'bandit', 'uniform', 'round-robin'"),
    ("cma_population", ["emitter", "genome"], ["own", 12, None], "one of 'emitter', 'genome'"),
    (
        "scheduler",
        ["alternating", "fixed-ratio", "adaptive", "my_schedulers:Mine"],
        ["by-turns", "", 1, None, ("adaptive",), "adaptive,fixed-ratio"],
        "one of 'alternating', 'fixed-ratio', 'adaptive', or your own as 'module:name'",
    ),
    ("exploration_share", [0, 0.3, 1], [-0.1, 1.1, "half", None, True], "a number from 0 to 1"),
    ("bandit_window", [2, 500], [1, 2.5, None], "a whole number from 2 to 1,000,000"),
    ("bandit_exploration", [0, 3.5], [-1, float("nan"), None], "a number from 0 to 1,000,000"),
    ("kept_weights", ["best", "last"], ["first", None], "one of 'best', 'last'"),
    ("emitters", [True, False, None], [1, 0, "true"], "true or false, or none (as the method does)"),
    ("center_observations", [True, False], [1, 0, "true", None], "true or false"),
    ("scale_observations", [True, False], [1, 0, "true", None], "true or false"),
    ("whiten_codes", [True, False], [1, 0, "true", None], "true or false"),
    ("descriptor_moments", ["even", "changing"], ["odd", 1, None], "one of 'even', 'changing'"),
    ("sequence_size", [1, None], [0, 1.5, 10_001], "a whole number from 1 to 10,000, or none (the codes side by side)"),
    ("contrast_weight", [0, 0.5, 3], [-0.1, None, "1", float("nan")], "a number from 0 to 1,000,000"),
    ("contrast_margin", [0, 0.5, 3], [-0.1, None, "1", float("inf")], "a number from 0 to 1,000,000"),
    ("smoothing", [0, 1.5, 10], [-0.1, 10.5, None, "1", float("nan")], "a number from 0 to 10"),
]


def test_a_training_set_is_not_larger_than_an_episode():
    with pytest.raises(
        InvalidInputError, match="training_set_size must be at most max_images_per_episode, which is 2,000, not 3,000"
    ):
        stax.make_search("stax", stax.make_task("redundant-arm"), budget=1000, training_set_size=3000)


def test_every_parameter_has_its_edges_tested():
    assert sorted(edge[0] for edge in EDGES) == sorted(Parameters.described())


@pytest.mark.parametrize(("name", "right", "wrong", "words"), EDGES, ids=[edge[0] for edge in EDGES])
def test_what_a_parameter_may_be(name, right, wrong, words):
    for value in right:
        got = getattr(make_parameters("paper", {}, {name: value}), name)
        assert got == (tuple(value) if isinstance(value, list) else value)
        assert not isinstance(got, np.generic)
    for value in wrong:
        with pytest.raises(InvalidInputError) as refusal:
            make_parameters("paper", {}, {name: value})
        assert str(refusal.value).startswith(f"Parameter {name} must be {words}")
        assert str(refusal.value).endswith(f", not {value!r}.")


def test_the_values_of_the_paper():
    paper = make_parameters("paper", {}, {})
    assert (paper.population_size, paper.offspring_per_parent, paper.mutation_sigma) == (100, 2, 0.5)
    assert (paper.archive_additions, paper.novelty_neighbors, paper.chunk_size) == (5, 15, 100)
    assert (paper.emitter_population, paper.bootstrap_generations) == (6, 6)
    assert (paper.code_size, paper.learning_rate, paper.patience, paper.max_epochs) == (10, 1e-3, 3, 100)
    assert (paper.batch_size, paper.validation_share, paper.grid_cells) == (128, 0.2, 50)
    assert (paper.archive_selection, paper.kept_weights, paper.descriptor) == ("uniform", "best", "learned")
    assert (paper.max_images_per_episode, paper.center_observations, paper.scale_observations) == (None, False, False)
    assert (paper.emitter_sigma, paper.emitter_novelty, paper.bootstrap_share) == ("distance", "all", 1 / 3)
    assert (paper.population_update, paper.elite_replacement) == ("selection", "not-worse")
    assert (paper.emitter_kinds, paper.scheduler) == (("elitist",), "alternating")


def test_presets_change_the_values_of_the_paper():
    published = make_parameters("published-code", {}, {})
    assert (published.chunk_size, published.mutation_sigma, published.emitter_sigma) == (1000, 0.05, "distance")
    assert (published.bootstrap_share, published.emitter_novelty) == (2 / 3, "reward-archive")
    assert published.elite_replacement == "not-worse"
    assert {preset: METHODS["stax-nt"].resolve(preset).population_update for preset in PRESETS} == {
        "default": "selection",
        "paper": "selection",
        "published-code": "frozen",
    }
    assert METHODS["stax-reset"].resolve("default").max_images_per_episode == 20_000
    assert METHODS["stax-reset"].resolve("paper").max_images_per_episode is None
    default = Parameters()
    assert make_parameters("default", {}, {}) == default
    assert default.chunk_size == 100
    assert (default.max_images_per_episode, default.emitter_sigma) == (2000, "length")
    assert (default.center_observations, default.scale_observations) == (True, True)
    for changes in PRESETS.values():
        assert all(getattr(default, name) != value for name, value in changes.items()), "a preset holds differences alone"


def test_what_the_user_gives_wins_over_method_and_preset():
    assert make_parameters("published-code", {"chunk_size": 7}, {}).chunk_size == 7
    assert make_parameters("published-code", {"chunk_size": 7}, {"chunk_size": 9}).chunk_size == 9
    assert quick_search("taxons", descriptor_samples=2).parameters.descriptor_samples == 2


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: quick_search("stx"), "There is no method 'stx'; did you mean 'stax'? there are stax, stax-single,"),
        (lambda: quick_search("mapelites"), "There is no method 'mapelites'; did you mean 'map-elites'?"),
        (lambda: quick_search("zzz"), "There is no method 'zzz'; there are stax,"),
        (lambda: quick_search("ns", populaton_size=3), "did you mean 'population_size'?"),
        (lambda: quick_search("ns", preset="papers"), "There is no preset 'papers'; did you mean 'paper'?"),
        (lambda: quick_search("ns", budget=11), "budget must be at least one population of 12 evaluations, not 11."),
        (lambda: quick_search("ns", budget=100.0), "budget must be a whole number from 1 to 1,000,000,000, not 100.0."),
        (lambda: quick_search("ns", budget=0), "budget must be a whole number from 1 to 1,000,000,000, not 0."),
        (lambda: quick_search("ns", seed=-1), "seed must be a whole number from 0 to 9,223,372,036,854,775,807, not -1."),
        (
            lambda: quick_search("stax", descriptor_samples=4),
            "Parameter descriptor_samples must be at most 3, the observations that task 'square' keeps of a rollout, not 4.",
        ),
        (
            lambda: quick_search("stax", descriptor="states"),
            "Parameter descriptor must be 'learned' for stax, whose selection needs surprise, not 'states'.",
        ),
        (
            lambda: quick_search("map-elites", emitters=True),
            "Parameter emitters must be false for map-elites, which has no population to explore with, not True.",
        ),
        (
            lambda: quick_search("ns", descriptor="none"),
            "Parameter descriptor must be 'learned', 'ground-truth' or 'states' for ns, which compares behaviours, not 'none'.",
        ),
        (
            lambda: quick_search("random", descriptor="learned"),
            "Parameter descriptor must be 'none' for random, which compares nothing, not 'learned'.",
        ),
        (
            lambda: quick_search("random", emitters=True),
            "Parameter emitters must be false for random, which compares nothing, not True.",
        ),
        (
            lambda: quick_search("random", archive_selection="most-novel"),
            "Parameter archive_selection must be 'uniform' for random, which measures no novelty, not 'most-novel'.",
        ),
        (
            lambda: quick_search("dns", selection="pareto"),
            "Parameter selection must be 'dominated-novelty' for dns, which is that selection, not 'pareto'.",
        ),
        (
            lambda: quick_search("map-elites", selection="dominated-novelty"),
            "Parameter selection must be 'pareto' for map-elites, whose elites compete within their cells only, not 'dominated-novelty'.",
        ),
        (
            lambda: quick_search("taxons", selection="dominated-novelty"),
            "Parameter selection must be 'pareto' for taxons, which selects by one objective at a time, not 'dominated-novelty'.",
        ),
        (
            lambda: quick_search("random", selection="dominated-novelty"),
            "Parameter selection must be 'pareto' for random, which selects nothing, not 'dominated-novelty'.",
        ),
        (
            lambda: quick_search("aurora", emitters=True),
            "Parameter emitters must be false for aurora, whose container is all that it keeps, not True.",
        ),
        (
            lambda: quick_search("aurora", selection="dominated-novelty"),
            "Parameter selection must be 'pareto' for aurora, whose policies compete with their nearest neighbour only",
        ),
        (
            lambda: quick_search("dns", emitters=True),
            "Parameter emitters must be false for dns, whose archive is its population, not True.",
        ),
        (
            lambda: quick_search("map-elites", NoTruthTask()),
            "Task 'no-truth' has no ground-truth descriptor, which the grid of map-elites needs",
        ),
        *(
            (
                lambda algo=algo: quick_search(algo, NoTruthTask()),
                "Task 'no-truth' has no ground-truth descriptor, so its behav",
            )
            for algo in ("ns", "serene", "moo-nr", "dns")
        ),
    ],
)
def test_refusals_name_the_thing(make, sentence):
    with pytest.raises(InvalidInputError, match=re.escape(sentence)):
        make()


def test_methods_are_those_of_the_paper():
    def choices(name):
        method = METHODS[name]
        alternates = isinstance(method.explorer, AlternatingExplorer)
        return method.explorer.objectives, alternates, method.emitters, method.training, method.parameters

    both, last, truth = ("novelty", "surprise"), {"descriptor_samples": 1}, {"descriptor": "ground-truth"}
    assert choices("stax") == (both, False, True, "continued", {})
    assert choices("stax-single") == (both, False, True, "continued", last)
    assert choices("stax-alt-multi") == (both, True, True, "continued", {})
    assert choices("stax-alt-single") == (both, True, True, "continued", last)
    assert choices("stax-nt") == (both, False, True, "never", {})
    assert choices("stax-reset") == (both, False, True, "reset", {})
    assert choices("taxons") == (both, True, False, "continued", last)
    assert choices("serene")[:3] == (("novelty",), False, True)
    assert choices("ns")[:3] == (("novelty",), False, False)
    assert choices("moo-nr")[:3] == (("novelty", "reward"), False, False)
    assert all(METHODS[name].parameters == truth for name in ("serene", "ns", "moo-nr"))
    assert isinstance(METHODS["map-elites"].explorer, GridExplorer)
    assert METHODS["map-elites"].parameters == {**truth, "offspring_per_parent": 1}
    assert choices("random") == ((), False, False, "continued", {"descriptor": "none"})
    assert isinstance(METHODS["random"].explorer, RandomExplorer)


def test_stax_plus_is_stax_with_another_learned_space():
    for preset in PRESETS:
        assert METHODS["stax-plus"].resolve(preset) == METHODS["stax"].resolve(preset, {"autoencoder": "auto-principal"})
    assert METHODS["stax-plus"].explorer == METHODS["stax"].explorer


def test_methods_beside_the_paper_have_the_values_of_their_authors():
    authors = {
        "selection": "dominated-novelty",
        "population_size": 1024,
        "parents_per_generation": 256,
        "offspring_per_parent": 1,
        "variation": "iso-line",
    }
    assert METHODS["dns"].parameters == {"descriptor": "ground-truth", **authors}
    assert METHODS["dns-learned"].parameters == authors
    growing = {"training_growth": 10, "training_limit": 15_000}
    assert METHODS["aurora"].parameters == {"population_size": 128, "offspring_per_parent": 1, **growing}
    for preset in ("default", "paper", "published-code"):
        resolved = METHODS["aurora"].resolve(preset)
        assert (resolved.container_size, resolved.container_gain, resolved.container_tolerance) == (10_000, 10_000 * 5e-6, 0.1)
        assert (resolved.novelty_neighbors, resolved.container_refill, resolved.container_vat_factor) == (15, 10, 25)
        resolved = METHODS["dns"].resolve(preset)
        assert (resolved.dns_neighbors, resolved.iso_sigma, resolved.line_sigma) == (3, 0.005, 0.05)


def test_several_kinds_are_given_with_commas_or_as_a_list():
    for given in ("elitist,cma-es", " elitist , cma-es", ["elitist", "cma-es"]):
        assert make_parameters("paper", {}, {"emitter_kinds": given}).emitter_kinds == ("elitist", "cma-es")


def test_genomes_keep_to_bounds_other_than_the_task_s():
    search = quick_search("serene", budget=200, genome_bounds=(-0.25, 0.5))
    lowest = highest = 0.0
    while not search.done:
        genomes = search.ask()
        lowest, highest = min(lowest, genomes.min()), max(highest, genomes.max())
        search.tell(search.task.evaluate(genomes))
    assert (lowest, highest) == (-0.25, 0.5)


def test_emitters_make_serene_of_novelty_search_and_back():
    """The methods differ in nothing else."""

    def rewards(algo, **options):
        search = quick_search(algo, budget=300, chunk_size=60, **options)
        finish(search)
        return search.ledger.columns()["reward"].tolist(), search.containers.emitters.made

    assert rewards("ns", emitters=True) == rewards("serene")
    assert rewards("serene", emitters=False) == rewards("ns")
    assert rewards("serene")[1] > 0
    assert rewards("ns")[1] == 0
    assert rewards("stax", emitters=False)[1] == 0

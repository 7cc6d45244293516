"""A run starts from what another has found: from its policies, its archives, its autoencoder, or from policies of other kinds."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import stax
from optional_packages import need
from run_folders import QUICK, Stop, as_options, contents, same_run, summary
from stax.cli.main import main
from stax.search.grid import Coverage, Grid
from stax.search.methods import METHODS
from stax.search.policy_set import PolicySet

TASK = "toy_tasks:SquareTask"
GIVEN = {**QUICK, "seed": 1, "workers": 1, "checkpoint_seconds": 60}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Folders of finished runs to start from, made when they are asked for."""
    folder, made = tmp_path_factory.mktemp("sources"), {}

    def source(algo: str) -> Path:
        if algo not in made:
            made[algo] = folder / algo
            stax.run(TASK, algo=algo, budget=200, out=made[algo], **GIVEN)
        return made[algo]

    return source


def archived(result: stax.Result) -> PolicySet:
    return PolicySet.union([result.novelty_archive, result.reward_archive])


def covered(policies: PolicySet, task: stax.Task) -> float:
    coverage = Coverage(Grid(task.ground_truth_bounds, 50))
    coverage.add(policies.ground_truth, policies.reward)
    return coverage.share


# What is seeded


def test_a_stax_seeded_by_an_ns_archive_starts_from_its_coverage(tmp_path):
    found = stax.run("redundant-arm", algo="ns", budget=310, seed=0, out=tmp_path / "ns", workers=1, population_size=10)
    seeds = archived(found)
    given = {"seed": 5, "workers": 1, "population_size": 10, "max_epochs": 1, "isolation": "none"}
    result = stax.run("redundant-arm", algo="stax", budget=150, start_from=tmp_path / "ns", **given)
    first = result.metrics[0]
    assert first["coverage"] == covered(seeds, found.task) > 0
    assert first["evaluations"] == len(seeds) > 50
    assert result.coverage >= first["coverage"]
    # A seeded policy does the same in both runs, and is in the ledger of both.
    np.testing.assert_array_equal(result.ledger["ground_truth"][: len(seeds)], seeds.ground_truth)
    np.testing.assert_array_equal(result.ledger["reward"][: len(seeds)], seeds.reward)
    assert (result.ledger["parent"][: len(seeds)] == -1).all()
    assert (result.ledger["origin"][: len(seeds)] == 0).all()


@pytest.mark.parametrize("algo", METHODS)
def test_every_method_starts_from_every_part_that_it_has(algo, sources):
    seeds = archived(stax.load(sources("stax")))
    result = stax.run(TASK, algo=algo, budget=200, start_from=sources("stax"), **GIVEN)
    record = result.config.start_from
    assert record["policies"] == len(seeds)
    assert record["population"] == QUICK["population_size"]
    assert ("autoencoder" in record["parts"]) == METHODS[algo].is_learned
    assert result.metrics[0]["evaluations"] == len(seeds)
    assert result.evaluations == 200
    if algo not in ("map-elites", "aurora", "dns", "dns-learned"):  # in whose archives policies compete
        assert set(range(len(seeds))) <= {*result.novelty_archive.id.tolist(), *result.reward_archive.id.tolist()}


def test_seeds_enter_the_archives_that_they_came_from(sources):
    found = stax.load(sources("stax"))
    seeds, first = archived(found), stax.run(TASK, algo="stax", budget=200, start_from=found, **GIVEN)
    for name in ("novelty_archive", "reward_archive"):
        kept = getattr(first, name)
        theirs = np.searchsorted(seeds.id, getattr(found, name).id)
        np.testing.assert_array_equal(np.sort(kept.id[kept.id < len(seeds)]), np.sort(theirs))
    candidates = first.metrics[0]["emitter_candidates"]
    assert candidates == np.count_nonzero((seeds.reward > 0) & ~np.isin(seeds.id, found.reward_archive.id)) > 0
    assert len(np.unique(first.reward_archive.id)) == len(first.reward_archive)


def test_the_population_alone_is_drawn_from_all_policies_and_filled_up_at_random(sources):
    genomes = archived(stax.load(sources("ns"))).genome
    result = stax.run(TASK, algo="ns", budget=100, start_from=genomes, start_parts=["population"], **GIVEN)
    assert result.config.start_from["policies"] == result.metrics[0]["evaluations"] == 12
    assert result.metrics[0]["novelty_archive_size"] == 0
    few = stax.run(TASK, algo="ns", budget=100, start_from=genomes[:5], start_parts="population", **GIVEN)
    alone = stax.run(TASK, algo="ns", budget=100, **GIVEN)
    assert few.metrics[0]["evaluations"] == 12
    # The policies that are drawn are those that an unseeded run draws first.
    np.testing.assert_array_equal(few.ledger["ground_truth"][5:12], alone.ledger["ground_truth"][:7])


def test_the_archives_alone_leave_the_population_random(sources):
    seeds = archived(stax.load(sources("ns")))
    result = stax.run(TASK, algo="ns", budget=200, start_from=sources("ns"), start_parts=["archives"], **GIVEN)
    alone = stax.run(TASK, algo="ns", budget=200, **GIVEN)
    assert result.metrics[0]["evaluations"] == len(seeds) + 12
    assert result.metrics[0]["novelty_archive_size"] == len(seeds)
    np.testing.assert_array_equal(result.ledger["ground_truth"][len(seeds) :][:12], alone.ledger["ground_truth"][:12])


def test_the_autoencoder_alone_is_kept_by_a_method_that_does_not_train_it(sources, tmp_path):
    out = tmp_path / "run"
    result = stax.run(
        TASK, algo="stax-nt", budget=60, start_from=sources("stax"), start_parts=["autoencoder"], out=out, **GIVEN
    )
    assert (out / "autoencoder.safetensors").read_bytes() == (sources("stax") / "autoencoder.safetensors").read_bytes()
    assert (result.config.start_from["policies"], result.metrics[0]["evaluations"]) == (0, 12)


def test_all_kinds_of_sources_give_the_same_seeds(sources):
    result = stax.load(sources("ns"))
    policies = archived(result)
    need("pandas")
    frames = [policies.to_pandas(), policies.to_pandas(["genome"])]
    given = [sources("ns"), str(sources("ns")), result, policies, policies.genome, *frames]
    ledgers = [stax.run(TASK, algo="ns", budget=80, start_from=source, **GIVEN).ledger for source in given]
    for ledger in ledgers[1:]:
        for name, column in ledger.items():
            np.testing.assert_array_equal(column, ledgers[0][name])


def test_an_archive_of_pyribs_is_a_source_even_with_negative_objectives(sources):
    ribs = need("ribs.archives")
    archive = ribs.GridArchive(solution_dim=6, dims=[5, 5], ranges=[(-1, 1), (-1, 1)])
    genomes = archived(stax.load(sources("ns"))).genome[:20]
    archive.add(genomes, -np.arange(20.0), np.random.default_rng(0).uniform(-1, 1, (20, 2)))
    result = stax.run(TASK, algo="map-elites", budget=60, start_from=archive, **GIVEN)
    assert result.config.start_from["policies"] == len(archive) > 5
    assert result.config.start_from["source"] == "an archive of pyribs"


# Resumed, extended and repeated


@pytest.mark.parametrize("algo", ["stax", "serene", "map-elites"])
def test_a_seeded_run_is_resumed_extended_and_repeated_without_what_it_came_from(algo, sources, tmp_path, capsys):
    source = Path(shutil.copytree(sources("stax"), tmp_path / "source"))
    stax.run(TASK, algo=algo, budget=200, start_from=source, out=tmp_path / "whole", **GIVEN)
    with pytest.raises(stax.RunInterrupted):
        stax.run(TASK, algo=algo, budget=200, start_from=source, out=tmp_path / "resumed", stop=Stop(1), **GIVEN)
    killed = shutil.copytree(tmp_path / "resumed", tmp_path / "killed")
    shutil.rmtree(killed / "checkpoints")
    stax.run(TASK, algo=algo, budget=150, start_from=source, out=tmp_path / "extended", **GIVEN)
    shutil.rmtree(source)
    stax.resume(tmp_path / "resumed", trust=True)
    stax.resume(killed, trust=True)
    stax.resume(tmp_path / "extended", trust=True, budget=200)
    again = ["run", "--config", str(tmp_path / "whole" / "config.toml"), "--trust", "--quiet"]
    assert main([*again, "--out", str(tmp_path / "again")]) == 0
    for name in ("resumed", "killed", "extended", "again"):
        same_run(tmp_path / name, tmp_path / "whole")
    assert summary(tmp_path / "whole")["start_from"]["source"] == str(source)
    (tmp_path / "whole" / "seeds.npz").unlink()
    assert main([*again, "--out", str(tmp_path / "never")]) == 2
    assert "seeds.npz' are missing" in capsys.readouterr().err


def test_forged_seeds_are_refused(sources, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(stax.RunInterrupted):
        stax.run(TASK, algo="ns", budget=200, start_from=sources("ns"), out=run, stop=Stop(1), **GIVEN)
    forged = {"seeds.npz": (b"", "damaged"), "config.toml": (b"", "start_from in")}
    honest = contents(run)
    with np.load(run / "seeds.npz") as arrays:
        np.savez(tmp_path / "other.npz", **{**arrays, "genome": arrays["genome"] + 1})
    forged["seeds.npz"] = ((tmp_path / "other.npz").read_bytes(), "their digest differs")
    text = honest["config.toml"].decode()
    forged["config.toml"] = (re.sub(r"(\[start_from\]\n)", r"\1more = 1\n", text).encode(), "start_from in")
    for name, (content, words) in forged.items():
        (run / name).write_bytes(content)
        with pytest.raises(stax.InvalidInputError, match=words):
            stax.resume(run, trust=True)
        (run / name).write_bytes(honest[name])
    (run / "config.toml").write_text(text[: text.index("[start_from]")] + text[text.index("[task_description]") :])
    with pytest.raises(stax.InvalidInputError, match="begun with another start_from"):
        stax.resume(run, trust=True)


# Refused


@pytest.mark.parametrize(
    ("source", "more", "words"),
    [
        ("nowhere", {}, "no run folder 'nowhere'"),
        (np.zeros((3, 5)), {}, "genomes of 5 numbers, those of task 'square' have 6"),
        (np.zeros(6), {}, "a row for each genome"),
        (np.full((3, 6), np.nan), {}, "must hold finite numbers"),
        (np.zeros((0, 6)), {}, "has no policies to start from"),
        (np.full((3, 6), 9.0), {}, "the number 9, which is outside of genome_bounds"),
        (np.zeros((300, 6)), {}, "budget must be at least 300 evaluations"),
        (np.zeros((3, 6)), {"start_parts": "autoencoder", "algo": "stax"}, "has no autoencoder"),
        (np.zeros((3, 6)), {"start_parts": ["autoencoder"]}, "ns with descriptor 'ground-truth' has no autoencoder"),
        (np.zeros((3, 6)), {"start_parts": ["ledger"]}, "one of 'population', 'archives', 'autoencoder', not 'ledger'"),
        (np.zeros((3, 6)), {"start_parts": []}, "must be some of population, archives, autoencoder"),
        (7, {}, "start_from must be a run folder, a Result"),
        ("stax", {"algo": "stax", "code_size": 4}, "another architecture than that of this search, whose code_size is 4"),
        ("stax", {"task": "toy_tasks:NoTruthTask", "algo": "stax"}, "is of task 'toy_tasks:SquareTask'"),
    ],
)
def test_what_a_run_cannot_start_from_is_refused_in_one_sentence(source, more, words, sources, tmp_path):
    given = {"task": TASK, "algo": "ns", "budget": 200, **GIVEN, **more}
    source = sources("stax") if isinstance(source, str) and source == "stax" else source
    with pytest.raises(stax.InvalidInputError, match=re.escape(words)):
        stax.run(start_from=source, out=tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / "archives" / "novelty.npz").write_bytes(b"PK"), "The archive"),
        (lambda folder: (folder / "archives" / "reward.npz").unlink(), "is missing"),
        (lambda folder: (folder / "autoencoder.safetensors").write_bytes(bytes(8) + b"{}"), "The autoencoder"),
        (lambda folder: (folder / "summary.json").write_text('{"status": "running"}'), "was killed|is damaged"),
        (lambda folder: (folder / "config.toml").write_text("task = 1"), "task must be"),
    ],
)
def test_a_damaged_source_is_refused_in_one_sentence(damage, words, sources, tmp_path):
    source = Path(shutil.copytree(sources("stax"), tmp_path / "source"))
    damage(source)
    with pytest.raises(stax.InvalidInputError, match=words):
        stax.run(TASK, algo="stax", budget=200, start_from=source, out=tmp_path / "run", **GIVEN)
    assert not (tmp_path / "run").exists()


def test_the_command_seeds_and_refuses(sources, tmp_path, capsys):
    given = ["run", TASK, "--algo", "ns", "--budget", "100", "--workers", "1", "--quiet", *as_options(QUICK)]
    out = ["--out", str(tmp_path / "run")]
    assert main([*given, *out, "--from", str(sources("stax")), "--from-parts", "population"]) == 0
    assert summary(tmp_path / "run")["start_from"]["parts"] == ["population"]
    capsys.readouterr()
    other = ["--out", str(tmp_path / "other")]
    for words in (
        ["--from-parts", "population"],
        ["--from", "nowhere"],
        ["--from", str(sources("stax")), "--from-parts", "all"],
    ):
        assert main([*given, *other, *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1
        assert not (tmp_path / "other").exists()


def test_seeds_compete_for_the_population_of_dns(sources):
    """The first population is what dominated novelty selects among all seeds, not only those drawn for it."""
    seeds = archived(stax.load(sources("stax")))
    searched = stax.run(TASK, algo="dns", budget=len(seeds), start_from=sources("stax"), **GIVEN)
    kept = searched.novelty_archive
    assert len(kept) == min(QUICK["population_size"], len(seeds))
    assert kept.reward.max() == seeds.reward.max()

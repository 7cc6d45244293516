"""Policies without a finite descriptor have failed, and nothing that a task raises ends the program."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch
from torch import nn
from undescribed_tasks import ExitingTask, NoObservationsTask, WildTask
from ways import evaluator

import stax
from stax.cli.main import main
from stax.evaluation import TaskSource
from stax.representation.learned import LearnedSpace
from stax.representation.space import UndescribedError
from stax.tasks.contract import check_task
from toy_tasks import SquareTask, strewn

QUICK = {"budget": 400, "population_size": 20, "chunk_size": 100, "max_epochs": 1, "workers": 1, "device": "cpu"}
QUICK |= {"archive_additions": 3, "emitter_population": 3, "max_failed_share": 0.5}


class OverflowingAutoencoder(stax.Autoencoder):
    """Squares its inputs, which overflows for large ones."""

    def __init__(self, observation_shape, code_size) -> None:
        super().__init__(observation_shape, code_size)
        self.first = nn.Linear(observation_shape[0], code_size)
        self.second = nn.Linear(code_size, observation_shape[0])

    def inputs(self, observations):
        return observations.to(torch.float32)

    def observations(self, reconstructions):
        return reconstructions

    def encode(self, inputs):
        return self.first(inputs) + 1e-3 * inputs.square().sum(1, keepdim=True)

    def decode(self, codes):
        return self.second(codes)

    def fit_to(self, observations, rows):
        pass


LEARNED = {"algo": "stax"}
STATES = {"algo": "ns", "descriptor": "states"}
CASES = {
    "nan": (WildTask(np.nan), LEARNED, "an observation is not finite in 32 bits"),
    "infinite": (WildTask(-np.inf), LEARNED, "an observation is not finite in 32 bits"),
    "too large for 32 bits": (WildTask(1e39), LEARNED, "an observation is not finite in 32 bits"),
    "nan state": (WildTask(np.nan), STATES, "a state is not finite in 32 bits"),
    "large state": (WildTask(1e200), STATES, "a state is not finite in 32 bits"),
    "raised": (NoObservationsTask(), LEARNED, "its observations cannot be computed (ArithmeticError: the camera broke"),
    "exit": (NoObservationsTask("exit"), LEARNED, "its observations cannot be computed (SystemExit: 0"),
    "overflow": (
        WildTask(1e30),
        LEARNED | {"autoencoder": OverflowingAutoencoder, "code_size": 3},
        "codes or errors of the autoencoder are not finite",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_with_discard_they_are_noted_and_the_run_goes_on(case):
    task, options, reason = CASES[case]
    result = stax.run(task, on_failure="discard", seed=1, **QUICK, **options)
    failed = result.ledger["failed"]
    assert result.status == "finished"
    assert 0.02 < failed.mean() < 0.3
    ((words, count),) = result.failures.items()
    assert words.startswith(reason)
    assert count == failed.sum()
    for archive in (result.novelty_archive, result.reward_archive):
        assert not failed[archive.id].any()
        if not isinstance(task, NoObservationsTask):
            assert not strewn(archive.genome, 0.1).any()
    assert np.isfinite(result.novelty_archive.descriptor).all()


@pytest.mark.parametrize("case", CASES)
def test_with_abort_one_sentence_names_the_task_and_the_policy(case):
    task, options, reason = CASES[case]
    with pytest.raises(RuntimeError, match=rf"^Policy \d+ of \d+ of task 'square' has no descriptor: {re.escape(reason)}"):
        stax.run(task, seed=1, **QUICK, **options)


def test_the_command_says_so_and_the_run_can_be_resumed(tmp_path, capsys):
    settings = [f"--set={name}={value}" for name, value in QUICK.items() if name not in ("budget", "workers", "device")]
    command = ["run", "undescribed_tasks:WildTask", "--algo=stax", "--budget=400", "--workers=1", "--device=cpu", "--quiet"]
    aborted, discarded = tmp_path / "aborted", tmp_path / "discarded"
    assert main([*command, *settings, "--set=isolation=none", f"--out={aborted}"]) == 1
    assert re.fullmatch(r"stax: Policy \d+ of 20 of task 'square' has no descriptor: .*\n", capsys.readouterr().err)
    assert main([*command, *settings, "--set=isolation=none", "--set=on_failure=discard", f"--out={discarded}"]) == 0
    summary = json.loads((discarded / "summary.json").read_text())
    assert list(summary["failed_evaluations"]) == ["an observation is not finite in 32 bits"]


def test_telling_a_search_what_it_cannot_describe_changes_nothing():
    task = WildTask()
    search = stax.make_search("stax", task, budget=200, population_size=20, max_epochs=1, device="cpu", seed=1)
    told = SquareTask().evaluate(search.ask())
    search.tell(told)
    while not strewn(genomes := search.ask(), 0.1).any():
        search.tell(task.evaluate(genomes))
    before, rollouts = search.evaluations, task.evaluate(genomes)
    with pytest.raises(UndescribedError) as undescribed:
        search.tell(rollouts)
    np.testing.assert_array_equal(undescribed.value.rows, strewn(genomes, 0.1))
    assert search.evaluations == before == len(search.ledger)
    np.testing.assert_array_equal(search.ask(), genomes)
    search.tell(stax.Rollouts(**vars(rollouts) | {"failed": undescribed.value.rows}))
    assert search.evaluations == before + len(genomes)
    assert search.ledger.columns()["failed"][before:].tolist() == undescribed.value.rows.tolist()


@pytest.mark.parametrize("on_failure", ["abort", "discard"])
def test_a_training_that_diverged_ends_the_run_in_one_sentence(on_failure, monkeypatch):
    """The policies that are described anew after training were told before, so they cannot be discarded."""
    train = LearnedSpace.train

    def diverge(space, *given):
        episode = train(space, *given)
        with torch.no_grad():
            for weight in space.autoencoder.parameters():
                weight.fill_(float("nan"))
        return episode

    monkeypatch.setattr(LearnedSpace, "train", diverge)
    sentence = r"^Policy 0 of \d+ of task 'square' has no descriptor: codes or errors of the autoencoder are not finite after 1 training"
    with pytest.raises(RuntimeError, match=sentence):
        stax.run(SquareTask(), algo="stax", on_failure=on_failure, seed=1, **QUICK)


@pytest.mark.parametrize("how", ["SystemExit", "GeneratorExit", "OwnExit"])
@pytest.mark.parametrize("way", ["own process", "processes"])
def test_a_task_cannot_end_the_program(way, how):
    source = TaskSource(ExitingTask(how=how), "undescribed_tasks:ExitingTask", {"how": how})
    with (
        evaluator(way, source, workers=1) as aborts,
        pytest.raises(RuntimeError, match=rf"^Task 'square' failed to evaluate \d polic(y|ies): {how}: 0 \("),
    ):
        aborts.evaluate(np.zeros((4, 6)))


@pytest.mark.parametrize("isolation", ["none", "process"])
def test_sys_exit_in_a_task_is_no_success(isolation, tmp_path, capsys):
    command = ["run", "undescribed_tasks:ExitingTask", "--algo=ns", "--budget=200", "--quiet", f"--out={tmp_path / 'run'}"]
    assert main([*command, f"--set=isolation={isolation}", "--workers=1"]) == 1
    assert re.match("stax: Task 'square' failed to evaluate .*SystemExit: 0", capsys.readouterr().err)


@pytest.mark.parametrize("how", ["SystemExit", "OwnExit"])
def test_sys_exit_while_a_task_is_made(how, capsys):
    arguments = ["undescribed_tasks:ExitingTask", "--set=task.where=make", f"--set=task.how={how}"]
    for command in ("run", "check-task"):
        assert main([command, *arguments]) == 2
        words = f"stax: Task 'undescribed_tasks:ExitingTask' cannot be made: {how}: 0 "
        assert capsys.readouterr().err.startswith(words)


def test_sys_exit_while_a_module_is_imported(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "exiting_module.py").write_text("raise SystemExit(0)\n")
    assert main(["check-task", "exiting_module:Task"]) == 2
    assert capsys.readouterr().err.startswith("stax: Task 'exiting_module:Task' cannot be imported: SystemExit: 0")


def test_the_check_of_a_task_finds_sys_exit():
    findings = check_task(ExitingTask())
    assert findings[-1].problem.startswith("it raised SystemExit: 0")


def test_sys_exit_while_the_result_is_drawn(tmp_path, capsys):
    folder = tmp_path / "run"
    command = ["run", "undescribed_tasks:ExitingTask", "--set=task.where=scene", "--algo=ns", "--budget=200", "--workers=1"]
    assert main([*command, "--set=isolation=none", "--quiet", f"--out={folder}"]) == 0
    assert "stax: the picture could not be drawn: RuntimeError: Task 'square' tried to end the program: SystemExit: 0" in (
        capsys.readouterr().err
    )
    assert json.loads((folder / "summary.json").read_text())["status"] == "finished"


class ExitingCallback(stax.Callback):
    def after_chunk(self, search):
        raise SystemExit(0)


class ExitingScheduler(stax.Scheduler):
    def choose(self, course, rng):
        raise SystemExit(0)


class ExitingEmitter(stax.EmitterKind):
    def start(self, emitter, rng):
        raise SystemExit(0)

    def ask(self, emitter, rng):
        raise SystemExit(0)

    def tell(self, emitter, offspring):
        raise SystemExit(0)


class ExitingAutoencoder(OverflowingAutoencoder):
    def decode(self, codes):
        if self.training:
            raise SystemExit(0)
        return super().decode(codes)


@pytest.mark.parametrize(
    "options",
    [
        {"callbacks": [ExitingCallback()]},
        {"scheduler": ExitingScheduler()},
        {"emitter_kinds": [ExitingEmitter()]},
        {"autoencoder": lambda shape, size: ExitingAutoencoder(shape, size)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_no_other_code_of_the_user_can_end_the_program(options):
    with pytest.raises((RuntimeError, stax.InvalidInputError), match="SystemExit: 0"):
        stax.run(SquareTask(), algo="stax", seed=1, **QUICK | options)

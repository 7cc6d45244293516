"""The reader of run folders, on which `stax.load`, `stax show`, campaigns, comparisons, records and reports build.

Each file is read and checked when it is first asked for, and no code is run.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError, no_such, printable
from stax.runs import limits
from stax.runs.config import RunConfig, parse_toml
from stax.runs.described_task import DescribedTask
from stax.runs.files import read_text
from stax.runs.folder import RunFolder, config_of_table, how_to_resume, is_leftover
from stax.runs.ledger_file import LEDGER, read_ledger
from stax.runs.status import WITH_RESULTS, RunStatus
from stax.runs.tables import read_archive, read_autoencoder, read_emitters, read_metrics
from stax.runs.validation import FILE, Validation, read_validation
from stax.search.emitters.emitter import EmitterRecord
from stax.search.policy_set import PolicySet
from stax.tasks.task import Task

_SHOWN = 4000
"""Characters of a damaged or strange value that are shown."""


class RunReader:
    """A reader of the folder of one run, in any state: finished, interrupted, running, failed or killed.

    Nothing is written, and no code that the run names is imported, so the folder may come from a stranger. Each file is read when it
    is first asked for, checked, and kept; the ledger is read anew at every call. What is missing or damaged raises
    `InvalidInputError` with one sentence when it is asked for, and other files can still be read.

    | | file | there for a run that is |
    |---|---|---|
    | `config`, `config_text`, `config_table`, `task` | `config.toml` | in any state |
    | `status`, `summary`, `evaluations`, `coverage`, `max_reward`, `seconds`, ... | `summary.json` | in any state but `not begun` |
    | `metrics` | `metrics.csv` | in any state, from its first checkpoint on |
    | `ledger()`, `novelty_archive`, `reward_archive`, `emitters` | `ledger.parquet`, `archives/`, `emitters.csv` | finished or interrupted |
    | `autoencoder_file`, `autoencoder_weights()` | `autoencoder.safetensors` | finished or interrupted, if something was learned |
    | `validation` | `validation.json` | finished, if rollouts depend on the seed |

    A reader shows the run as it was when each file was read. To follow a run that goes on, make a new reader each
    time, which takes about a millisecond.

    Args:
        path: the folder, which must have a `config.toml`.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir() and all(is_leftover(entry) for entry in self.path.iterdir()):
            raise InvalidInputError(f"The folder {str(path)!r} is empty: no run has been begun in it.")
        self._folder = RunFolder.existing(path)

    def __str__(self) -> str:
        return f"{self.config.algo} on {self.config.task} with seed {self.config.seed} in {str(self.path)!r}"

    def file(self, *names: str) -> Path:
        """Return the path of a file in the folder, which need not exist; a link that leads out of the folder is refused."""
        return self._folder.file(*names)

    # The configuration

    @cached_property
    def config_text(self) -> str:
        """The text of `config.toml`."""
        return read_text(self.file("config.toml"), "The configuration", limits.CONFIG_BYTES)

    @cached_property
    def config_table(self) -> dict[str, Any]:
        """The tables of `config.toml`, with the versions (`made_with`) and the machine that the run was made with."""
        return parse_toml(self.config_text, f"The configuration {str(self.file('config.toml'))!r}")

    @cached_property
    def _config_and_task(self) -> tuple[RunConfig, DescribedTask]:
        config, description = config_of_table(self.config_table, str(self.file("config.toml")))
        return config, DescribedTask(description)

    @property
    def config(self) -> RunConfig:
        """The configuration of the run, with all parameters as they were used."""
        return self._config_and_task[0]

    @property
    def task(self) -> DescribedTask:
        """What the configuration says of the task; it evaluates and draws nothing."""
        return self._config_and_task[1]

    # The status

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`, of which only the status is checked; empty if the run has not come that far."""
        return self._folder.summary()

    @cached_property
    def in_use(self) -> bool:
        """Whether a process works in the folder."""
        return self._folder.in_use

    @property
    def status(self) -> RunStatus:
        """The state of the run. `killed` means that the summary says running but the run's process is gone."""
        written = RunStatus(self.summary.get("status", RunStatus.NOT_BEGUN))
        if written not in (RunStatus.RUNNING, RunStatus.NOT_BEGUN):
            return written
        if self.in_use:
            return RunStatus.RUNNING
        return RunStatus.KILLED if written is RunStatus.RUNNING else written

    @property
    def resumes_from(self) -> int:
        """Evaluations that a resumed run need not do again: those of the newest checkpoint, 0 without one."""
        return self._folder.resumes_from

    @property
    def resume_command(self) -> str:
        """Command that goes on with the run."""
        return how_to_resume(self.path, self.config)

    @cached_property
    def validation(self) -> Validation | None:
        """Rewards of the best policies on fresh seeds; None if there was nothing to validate."""
        return read_validation(self.file(FILE), len(self.task.reward_areas))

    def why_unfinished(self) -> str:
        """Return a sentence on the state of an unfinished run and what to do; empty for a finished one."""
        if self.status is RunStatus.FINISHED:
            return ""
        course = f"{self.evaluations:,} of {self.config.budget:,} evaluations"
        again = f"go on with it: {self.resume_command}"
        reason = self.error.rstrip(".") or "no reason is known"
        words = {
            RunStatus.RUNNING: f"is still going ({course})",
            RunStatus.KILLED: f"was killed after {course}; {again}",
            RunStatus.INTERRUPTED: f"was interrupted after {course}; {again}",
            RunStatus.FAILED: f"failed after {course} ({reason}); once that is repaired, {again}",
            RunStatus.NOT_BEGUN: f"was ended before its first results; {again}",
        }
        return f"The run in {str(self.path)!r} {words[self.status]}."

    def require_finished(self) -> None:
        """Refuse a run that is not finished."""
        if self.status is not RunStatus.FINISHED:
            raise InvalidInputError(self.why_unfinished())

    def require_results(self) -> None:
        """Refuse a run that is neither finished nor interrupted, and so has no results."""
        if self.status not in WITH_RESULTS:
            raise InvalidInputError(self.why_unfinished())
        if not self.evaluations:
            raise self._damaged_summary("evaluations")

    # The summary

    @property
    def evaluations(self) -> int:
        """Evaluations done; 0 without a summary."""
        evaluations = self._value("evaluations", int) if self.summary else 0
        if not 0 <= evaluations <= self.config.budget:
            raise self._damaged_summary("evaluations")
        return int(evaluations)

    @property
    def coverage(self) -> float | None:
        """Share of the cells of the ground-truth grid that were reached; None for a task without a ground-truth descriptor."""
        coverage = self._value("coverage", int, float, type(None))
        return None if coverage is None else float(coverage)

    @property
    def max_reward(self) -> list[float]:
        """The highest reward per reward area, 0 where none was found."""
        rewards = self._value("max_reward", list)
        if len(rewards) != len(self.task.reward_areas) or not all(isinstance(reward, (int, float)) for reward in rewards):
            raise self._damaged_summary("max_reward")
        return [float(reward) for reward in rewards]

    @property
    def archive_sizes(self) -> tuple[int, int]:
        """Policies in the novelty archive and in the reward archive."""
        return self._value("novelty_archive_size", int), self._value("reward_archive_size", int)

    @property
    def training_episodes(self) -> int:
        """Training episodes of the autoencoder."""
        return int(self._value("training_episodes", int))

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds that the run took, `total` and by activity."""
        seconds = self._numbers("seconds")
        if "total" not in seconds:
            raise self._damaged_summary("seconds")
        return {activity: float(spent) for activity, spent in seconds.items()}

    @property
    def core_seconds(self) -> float | None:
        """Processor time of the run; None if it is not known."""
        spent = self._value("core_seconds", int, float, type(None)) if "core_seconds" in self.summary else None
        return None if spent is None else float(spent)

    @property
    def failures(self) -> dict[str, int]:
        """Number of failed evaluations, by reason."""
        return {reason: int(count) for reason, count in self._numbers("failed_evaluations").items()}

    @property
    def error(self) -> str:
        """Reason why the run failed; empty if it has not, or the reason is not known."""
        return printable(self.summary.get("error", ""), _SHOWN)

    def _value(self, name: str, *types: type) -> Any:
        if name not in self.summary:
            raise InvalidInputError(f"The summary {str(self.path / 'summary.json')!r} is damaged: it has no {name}.")
        if not isinstance(self.summary[name], types) or isinstance(self.summary[name], bool):
            raise self._damaged_summary(name)
        return self.summary[name]

    def _numbers(self, name: str) -> dict[str, Any]:
        """Return a table of the summary whose values are numbers of at least 0."""
        table: dict[str, Any] = self._value(name, dict)
        if not all(isinstance(number, (int, float)) and 0 <= number < np.inf for number in table.values()):
            raise self._damaged_summary(name)
        return table

    def _damaged_summary(self, name: str) -> InvalidInputError:
        value = printable(repr(self.summary[name]), _SHOWN)
        return InvalidInputError(f"The summary {str(self.path / 'summary.json')!r} is damaged: {name} is {value}.")

    # The results

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """A row per chunk of the budget, up to the last checkpoint of a run that still goes on."""
        return read_metrics(self._expect("metrics.csv"))

    def ledger(self, *columns: str) -> dict[str, NDArray[Any]]:
        """Return columns of the ledger, all if none is named; others are not read.

        Args:
            columns: names of `LEDGER`. The ledger has a row per evaluation.
        """
        for column in columns:
            if column not in LEDGER:
                raise InvalidInputError(no_such("column of the ledger", column, LEDGER))
        path = self._expect("ledger.parquet")
        ledger = read_ledger(path, self.config.budget, columns or LEDGER)
        rows = {len(column) for column in ledger.values()}
        if rows != {self.evaluations}:
            # A run that was resumed and then killed has the ledger of its first part.
            raise InvalidInputError(
                self.why_unfinished()
                or f"The ledger {str(path)!r} is damaged: it has {max(rows):,} rows for {self.evaluations:,} evaluations."
            )
        truth, size = ledger.get("ground_truth"), len(self.task.ground_truth_bounds or ())
        if truth is not None and truth.shape[1] != size:
            raise InvalidInputError(
                f"The ledger {str(path)!r} is damaged: ground truths have {truth.shape[1]} numbers, the task's have {size}."
            )
        return ledger

    @cached_property
    def novelty_archive(self) -> PolicySet:
        """Policies of diverse behaviour; the elites of MAP-Elites."""
        return self.archive("novelty")

    @cached_property
    def reward_archive(self) -> PolicySet:
        """The best policies of the emitters, and those they began with; empty for methods without emitters."""
        return self.archive("reward")

    def archive(self, name: str, task: Task | None = None) -> PolicySet:
        """Read one of `ARCHIVES`, and keep nothing of it in memory.

        Args:
            name: novelty or reward.
            task: the task that the policies must fit; what the configuration says of it if None.
        """
        path = self._expect("archives", f"{name}.npz")
        archive = read_archive(path, task or self.task, self.evaluations)
        if (archive.reward_spread is not None) != (self.config.parameters.reevaluations > 0):
            raise InvalidInputError(
                f"The archive {str(path)!r} is damaged: policies have a reward_spread exactly if the run has reevaluations."
            )
        return archive

    def archived_ids(self) -> NDArray[np.int64]:
        """Return the ids of the policies in the final archives, each once; nothing of the archives is kept in memory."""
        return np.union1d(self.archive("novelty").id, self.archive("reward").id)

    @cached_property
    def emitters(self) -> list[EmitterRecord]:
        """A record of every emitter."""
        return read_emitters(self._expect("emitters.csv"))

    @property
    def autoencoder_file(self) -> Path | None:
        """The file with the trained autoencoder; None if there is none."""
        path = self.file("autoencoder.safetensors")
        return path if path.is_file() else None

    def autoencoder_weights(self, most_bytes: int) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """Return the weights and constants of the autoencoder by name, and the texts about them.

        Args:
            most_bytes: bytes that the weights may have together.
        """
        return read_autoencoder(self._expect("autoencoder.safetensors"), most_bytes)

    def _expect(self, *names: str) -> Path:
        """Return the path of a file; if it is missing because the run has not come that far, the error says so."""
        path = self.file(*names)
        if not path.is_file():
            raise InvalidInputError(self.why_unfinished() or f"The file {str(path)!r} is missing.")
        return path

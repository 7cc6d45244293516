"""Runs: a search from its start to its result, kept in a folder from which it can be resumed and loaded.

| module | holds |
|---|---|
| `run`, `resume_checks` | `run` and `resume`: what was asked for, checked and put together; checks before resuming |
| `run_in_progress` | a run while it is done: the search, its evaluator and the folder, with checkpoints at rest |
| `extension`, `seeding` | a larger budget for a run; what a run starts from |
| `result`, `digests` | `Result`, its files and `load`; digests by which two runs are compared |
| `callbacks`, `progress_bar` | `Callback`, called as a run progresses; a progress bar for runs started from Python |
| `config`, `options` | `RunConfig`, from keywords and TOML; options of tasks as TOML holds them |
| `folder` | `RunFolder`: the folder as the run itself uses it, with its lock, summary and checkpoints |
| `reader`, `status` | `RunReader`, the one reader of run folders; `RunStatus` |
| `described_task`, `described_space` | a task and a learned space as the folder describes them, without running the maker's code |
| `task_check`, `task_trial` | all checks of `stax check-task`; what a run reports about its task after the first population |
| `validation`, `reevaluation` | the best policies, and whole archives, evaluated on fresh seeds |
| `archived_policies` | policies of a result by id, by reward or at random |
| `files`, `limits` | atomic writes, and readers that neither hang nor fill the memory; how large the files may be |
| `array_files`, `tables`, `ledger_file`, `parquet_pages`, `toml_check`, `csv_text` | the formats, and checks of files before they are unpacked |
| `state_file`, `kept_search` | the state of a search as one file, for checkpoints and for searches by ask and tell |
| `saved_search` | a search by ask and tell as a run folder |
| `cores` | one number of cores for the task's threads, BLAS and torch |
| `campaign`, `campaign_work`, `campaign_estimate` | the file of a campaign and its runs; doing what is missing; how long it will take |
| `campaign_processes`, `campaign_ray` | where the runs of a campaign are done |

Decisions:

- Whoever drives the search takes checkpoints at rest: `if search.at_rest: ...` after `tell`. Nothing of the generator is saved;
  a restored search begins its loop anew. Callbacks are called at rest too, so that one that fails can stop the run with
  everything saved.
- The first checkpoint is taken at the first rest. A run can then be resumed from nearly its start, and a full or read-only disk
  is noticed at once.
- A run that fails before its first evaluation leaves no files.
- A search by ask and tell has no folder while it runs, only its state as one file: whoever evaluates elsewhere has a place for
  results already. A finished one can become a run folder.
- The state is small. Indices of neighbours, coverage and the distances of candidates are computed again, with the same bits,
  because novelty does not depend on the order in which points were added.
"""

from __future__ import annotations

from stax.runs.reader import RunReader
from stax.runs.result import Result, load
from stax.runs.run import resume, run
from stax.runs.run_in_progress import RunInterrupted
from stax.runs.status import RunStatus

__all__ = ["Result", "RunInterrupted", "RunReader", "RunStatus", "load", "resume", "run"]

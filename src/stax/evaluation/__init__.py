"""Evaluation of policies in this process, in worker processes or on a Ray cluster, and the handling of failures.

| module | holds |
|---|---|
| `evaluator` | `Evaluator`: splits a batch into parts, gives them to a crew, judges the outcomes; `make_evaluator` |
| `crew` | crews, which take parts and return outcomes: this process, or workers that are started, timed and replaced |
| `processes`, `ray_cluster` | the workers: processes of this machine, actors of a cluster |
| `ray_connection` | the connection to Ray that evaluations and campaigns share; a cluster of our own and its removal |
| `watchdog` | a small process that cleans up after this one has died |
| `source`, `calls` | how a worker gets the task; one call of it and its possible outcomes |

Decisions:

- One evaluator decides what failed, what is evaluated again and what is given up. It does not know what a worker is.
- A batch is split into contiguous parts, at least two per worker, and the results are joined in order. Because rollouts are pure, the
  bits are those of one call in this process, and a part may be evaluated twice or in halves: a worker that dies costs its part
  only.
- A class of a user's own that was given by name runs in processes by default. A simulator that crashes then does not end the
  run, and all cores are used without any work on the side of the task. The built-in tasks have threads of their own. A task
  given as an object runs in this process, because it may not be possible to send it. A time limit always needs workers, because
  a thread cannot be ended.
- No code of a user's ends the program. `SystemExit`, and whatever else is no `Exception`, is a failure of that code; only
  `KeyboardInterrupt` is passed on.
"""

from __future__ import annotations

from stax.evaluation.evaluator import Evaluator, make_evaluator
from stax.evaluation.source import TaskSource

__all__ = ["Evaluator", "TaskSource", "make_evaluator"]

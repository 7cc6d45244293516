"""Adapters to and from other libraries: pandas, pyribs, PyTorch, ONNX, TensorBoard, Weights & Biases, model hubs, notebooks.

| module | holds |
|---|---|
| `frames` | policies and results as data frames, and policies from data frames |
| `ribs_archives` | policies as archives of pyribs, and back |
| `given_policies` | what both ways back share: checking, and completing what is not known |
| `policy_layers`, `policy_network`, `onnx_policies` | a genome as layers, as a `torch.nn.Module`, as an ONNX file |
| `csv_callback`, `tensorboard_callback`, `wandb_callback`, `logged_metrics` | ready callbacks, and what the last two share; `stax.runs.callbacks` defines what a callback is |
| `sharing`, `model_card` | a run as a folder for a model hub, and its card |
| `acting_policy` | a policy as a function from an observation to an action |
| `notebook` | how results, archives, tasks and searches show themselves, as a line and as HTML |

Decisions:

- `PolicySet.to_pandas`, `Result.frames`, `Result.policy_module` and `Result.export_policy` import these modules when they are
  called. Nothing else below this package knows it, and no search imports pandas. The search has a grid of its own
  (`stax.search.grid`); archives of pyribs are made on request.
- The layers of a policy are known from the task (`Task.policy_sizes`) and from `config.toml`. A policy of a stranger's folder
  can therefore be exported without running the stranger's code.
- Rewards from elsewhere must not be negative, because a reward above zero means "rewarding" everywhere in `stax`.
- Callbacks have `at_resume` beside `at_start`, because chunks after the last checkpoint are reported again. A file is then cut
  to the checkpoint rather than marked, so that a reader that knows nothing of interruptions, such as a spreadsheet program,
  sees every row once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stax.lazy_attributes import lazy_attributes

if TYPE_CHECKING:
    from stax.ecosystem.csv_callback import CsvCallback
    from stax.ecosystem.frames import policies_frame, policies_from_frame, result_frames
    from stax.ecosystem.onnx_policies import export_policy
    from stax.ecosystem.policy_network import PolicyNetwork, policy_module
    from stax.ecosystem.ribs_archives import cvt_archive, grid_archive, policies_from_ribs, proximity_archive
    from stax.ecosystem.sharing import share_run, shared_space
    from stax.ecosystem.tensorboard_callback import TensorBoardCallback
    from stax.ecosystem.wandb_callback import WandbCallback

__all__ = [
    "CsvCallback",
    "PolicyNetwork",
    "TensorBoardCallback",
    "WandbCallback",
    "cvt_archive",
    "export_policy",
    "grid_archive",
    "policies_frame",
    "policies_from_frame",
    "policies_from_ribs",
    "policy_module",
    "proximity_archive",
    "result_frames",
    "share_run",
    "shared_space",
]

_LATER = {
    "CsvCallback": "csv_callback",
    "PolicyNetwork": "policy_network",
    "TensorBoardCallback": "tensorboard_callback",
    "WandbCallback": "wandb_callback",
    "cvt_archive": "ribs_archives",
    "export_policy": "onnx_policies",
    "grid_archive": "ribs_archives",
    "policies_frame": "frames",
    "policies_from_frame": "frames",
    "policies_from_ribs": "ribs_archives",
    "policy_module": "policy_network",
    "proximity_archive": "ribs_archives",
    "result_frames": "frames",
    "share_run": "sharing",
    "shared_space": "sharing",
}
# Importing these packages takes a while, and few users need all of them.
__getattr__ = lazy_attributes(__name__, _LATER)

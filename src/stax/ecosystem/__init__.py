"""What others in the field use, and the ways to and from it: pandas, pyribs, PyTorch and ONNX, TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stax.lazy_attributes import lazy_attributes

if TYPE_CHECKING:
    from stax.ecosystem.csv_callback import CsvCallback
    from stax.ecosystem.frames import policies_frame, policies_from_frame, result_frames
    from stax.ecosystem.onnx_policies import export_policy
    from stax.ecosystem.policy_network import PolicyNetwork, policy_module
    from stax.ecosystem.ribs_archives import cvt_archive, grid_archive, policies_from_ribs, proximity_archive
    from stax.ecosystem.tensorboard_callback import TensorBoardCallback

__all__ = [
    "CsvCallback",
    "PolicyNetwork",
    "TensorBoardCallback",
    "cvt_archive",
    "export_policy",
    "grid_archive",
    "policies_frame",
    "policies_from_frame",
    "policies_from_ribs",
    "policy_module",
    "proximity_archive",
    "result_frames",
]

_LATER = {
    "CsvCallback": "csv_callback",
    "PolicyNetwork": "policy_network",
    "TensorBoardCallback": "tensorboard_callback",
    "cvt_archive": "ribs_archives",
    "export_policy": "onnx_policies",
    "grid_archive": "ribs_archives",
    "policies_frame": "frames",
    "policies_from_frame": "frames",
    "policies_from_ribs": "ribs_archives",
    "policy_module": "policy_network",
    "proximity_archive": "ribs_archives",
    "result_frames": "frames",
}
# Each of these packages takes a while to import, and nobody needs all of them.
__getattr__ = lazy_attributes(__name__, _LATER)

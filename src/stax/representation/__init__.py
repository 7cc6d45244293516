"""Descriptor spaces: where behaviours are compared, learned by an autoencoder or given by the task.

`space.py` has the interface and the spaces that need no learning. The rest needs torch, which takes seconds to import, so it
is imported from its own modules: `autoencoder.py`, `training.py`, `learned.py`.
"""

from __future__ import annotations

from stax.representation.space import DescriptorSpace, GroundTruthSpace, StatesSpace, used_samples

__all__ = ["DescriptorSpace", "GroundTruthSpace", "StatesSpace", "used_samples"]

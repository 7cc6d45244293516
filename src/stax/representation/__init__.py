"""Descriptor spaces, in which behaviours are compared: learned by an autoencoder, or given by the task.

`space` has the interface and the spaces that need no learning. The rest needs torch, which takes seconds to import, so it is
imported from its own modules.

| module | holds |
|---|---|
| `space` | the interface of descriptor spaces, and those that need no learning |
| `learned` | `LearnedSpace`: observations drawn, encoded and decoded; training episodes; its state |
| `trained_network` | a network with its optimiser: computed in blocks, trained, saved |
| `autoencoder`, `variational`, `contrastive`, `spatial`, `principal`, `layers` | the autoencoders and their layers |
| `provenance` | rewards, policies and moments of observations, for losses that use them |
| `moments`, `sequences`, `whitening` | which observations make a descriptor; a sequence encoder of their codes; whitened codes |
| `choice`, `making`, `own` | the name of an autoencoder and what it means (without torch); making it; a user's own, wrapped and tested |
| `training`, `adam`, `weights` | one training episode; its optimiser; the state of both, as arrays |
| `sharing`, `repeated_pictures` | shares of the work on threads; what the pictures of a task have in common |
| `compiled_network/` | the convolutional autoencoder as compiled code |

Decisions:

- The bits of a descriptor depend neither on the number of threads nor on the other rows of a batch. Matrix products sum in
  another order for another number of rows, so blocks have a fixed size, padded at the end: 32 pictures or 256 vectors. Threads
  share whole blocks.
- The convolutional autoencoder is compiled code of our own on CPUs with fused multiply-adds (x86-64 with AVX2, 64-bit ARM).
  PyTorch computes all other networks and all other devices. It also holds the weights, and the compiled code is tested against
  it.
- There is no torch.compile: the bits would depend on whether a compiler is installed, and a run could not be repeated
  elsewhere. Numba brings its compiler along.
- Autoencoders are chosen by a name, so that parameters can be written to a file, or given as an object, which travels beside
  the parameters (`stax.own_code.without_objects`). A run folder that names a user's own can be read without it:
  `stax.runs.described_space` knows the size of its descriptors, and refuses the rest in one sentence.
"""

from __future__ import annotations

from stax.representation.space import DescriptorSpace, GroundTruthSpace, StatesSpace, used_samples

__all__ = ["DescriptorSpace", "GroundTruthSpace", "StatesSpace", "used_samples"]

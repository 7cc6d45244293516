"""A sequence encoder: a gated recurrent unit reads the codes of a rollout's observations, one after the other.

Its last state is the descriptor of the rollout, instead of all codes side by side. It is the encoder of an autoencoder for the stacked
codes, so it is trained as any other for vectors: its decoder must give the codes of all observations back.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stax.representation.autoencoder import VectorAutoencoder
from stax.representation.layers import linear, selu


class SequenceAutoencoder(VectorAutoencoder):
    """Autoencoder for sequences of codes, stacked to vectors (samples * code_size,); inputs are standardised.

    Args:
        samples: number of codes in a sequence.
        code_size: number of values in each of them.
        sequence_size: number of values in the state that stands for the sequence.
    """

    def __init__(self, samples: int, code_size: int, sequence_size: int) -> None:
        super().__init__((samples * code_size,), sequence_size)
        self.samples = samples
        self.gates_of_input = nn.Linear(code_size, 3 * sequence_size)
        self.gates_of_state = nn.Linear(sequence_size, 3 * sequence_size)
        self.decoder_layers = nn.ModuleList(
            [nn.Linear(sequence_size, 4 * sequence_size), nn.Linear(4 * sequence_size, samples * code_size)]
        )

    def encode(self, inputs: Tensor) -> Tensor:
        state = inputs.new_zeros((len(inputs), self.code_size))
        for code in inputs.view(len(inputs), self.samples, -1).unbind(1):
            state = self.step(code.contiguous(), state)
        return state

    def step(self, code: Tensor, state: Tensor) -> Tensor:
        """Return the state (n, sequence_size) after a code (n, code_size): the equations of Cho et al. (2014), as in PyTorch.

        r = s(W_r x + U_r h), z = s(W_z x + U_z h), m = tanh(W_m x + r * U_m h), h' = (1 - z) * m + z * h, with biases.
        """
        reset_in, update_in, memory_in = linear(code, self.gates_of_input).chunk(3, 1)
        reset_state, update_state, memory_state = linear(state, self.gates_of_state).chunk(3, 1)
        reset = torch.sigmoid(reset_in + reset_state)
        update = torch.sigmoid(update_in + update_state)
        memory = torch.tanh(memory_in + reset * memory_state)
        return (1 - update) * memory + update * state

    def decode(self, codes: Tensor) -> Tensor:
        first, last = self.decoder_layers
        assert isinstance(first, nn.Linear)
        assert isinstance(last, nn.Linear)
        return linear(selu(linear(codes, first)), last)

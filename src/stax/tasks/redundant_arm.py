"""Redundant Arm: an arm of twenty joints that must touch neither walls nor itself."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from stax.compiling import kernel, source_stamp
from stax.policies import forward
from stax.tasks.compiled import CompiledTask, areas
from stax.tasks.drawing import BLUE, RED, WALL, Shapes, View, discs, lines, quads
from stax.tasks.noise import disturb_actions, disturb_sensors
from stax.tasks.redundant_arm_physics import (
    BASE,
    HORIZON,
    JOINTS,
    LINK,
    SCRATCH_SIZE,
    STATE_SIZE,
    WALLS,
    reset,
    step,
)
from stax.tasks.task import States

POLICY_SIZES = (JOINTS, 5, 5, JOINTS)
_NO_TRACE = np.empty((0, STATE_SIZE))


def _make_simulate(stamp, noisy):
    # Noise is a constant of the kernel, so that rollouts without it cost what they would cost if there were none.
    @kernel
    def simulate(genomes, noise, random, samples, snapshots, trace, final, steps):
        """Run every genome; `trace` takes the states of the first one, if it is not empty."""
        _ = stamp
        state, scratch = np.empty(STATE_SIZE), np.empty(SCRATCH_SIZE)
        values, hidden = np.empty(JOINTS), np.empty(JOINTS)
        for n in range(genomes.shape[0]):
            reset(state)
            if trace.size:
                trace[0] = state
            sample, ended, done = 0, False, 0
            while not ended and done < HORIZON:
                for i in range(JOINTS):
                    values[i] = state[i] / math.pi
                if noisy:
                    disturb_sensors(values, JOINTS, noise[0], random, n)
                forward(genomes[n], POLICY_SIZES, values, hidden)
                if noisy:
                    disturb_actions(values, JOINTS, noise[1], random, n)
                ended = step(state, values, scratch)
                if trace.size:
                    trace[done + 1] = state
                if sample < samples.size and samples[sample] == done:
                    snapshots[n, sample] = state[:JOINTS]
                    sample += 1
                done += 1
            # An episode that ends early repeats its last picture.
            while sample < samples.size:
                snapshots[n, sample] = state[:JOINTS]
                sample += 1
            final[n] = state
            steps[n] = done

    return simulate


def _make_kernels(stamp):
    @kernel
    def begin(state):
        """Write the state at the start of an episode into `state`."""
        _ = stamp
        reset(state)

    @kernel
    def advance(state, torques, scratch):
        """Do one step of one arm; return whether the episode ended."""
        _ = stamp
        return step(state, torques, scratch)

    return begin, advance


_STAMP = source_stamp("policies.py", "tasks/redundant_arm_physics.py", "tasks/noise.py")
simulate, simulate_noisy = _make_simulate(_STAMP, False), _make_simulate(_STAMP, True)
begin, advance = _make_kernels(_STAMP)


class RedundantArm(CompiledTask):
    """Task in which a planar arm of 20 joints moves until it would touch itself, a wall or the border.

    The reward depends on where its end is then. A state is the 20 joint angles, the end effector's x and y, and the 20 joint speeds. The
    policy sees the angles divided by pi and sets the joints' torques.

    Args:
        view: "arm", the autoencoder sees the whole arm; "end-effector", it sees only the arm's end (the paper's STAX_ef).
        options: those of `CompiledTask`.
    """

    name = "redundant-arm"
    policy_sizes = POLICY_SIZES
    horizon = HORIZON
    state_size = STATE_SIZE
    snapshot_size = JOINTS
    ground_truth_bounds = ((0.0, 1.0), (0.0, 1.0))
    reward_areas = areas(
        ("lower left", (0.25, 0.25), 0.05), ("upper right", (0.85, 0.85), 0.05), ("upper left", (0.25, 0.90), 0.05)
    )
    choices = MappingProxyType({"view": ("arm", "end-effector")})
    view = View(left=0.0, top=1.0, width=1.0, y_down=False)
    _grain = 32

    def __init__(
        self,
        *,
        view: str = "arm",
        sensor_noise: float = 0.0,
        action_noise: float = 0.0,
        seed: int = 0,
        episodes: int = 1,
        threads: int | None = None,
    ) -> None:
        self.shows = self._choose("view", view)
        super().__init__(sensor_noise=sensor_noise, action_noise=action_noise, seed=seed, episodes=episodes, threads=threads)
        self._kernel = simulate_noisy if self.is_noisy else simulate

    def _simulate(
        self,
        genomes: NDArray[np.float64],
        random: NDArray[np.uint64],
        snapshots: NDArray[np.float32],
        final: NDArray[np.float64],
        steps: NDArray[np.int64],
    ) -> None:
        self._kernel(genomes, self.noise, random, self._samples, snapshots, _NO_TRACE, final, steps)

    def _trace(self, genome: NDArray[np.float64], random: NDArray[np.uint64]) -> States:
        trace, steps = np.empty((HORIZON + 1, STATE_SIZE)), np.empty(1, np.int64)
        snapshots = np.empty((1, len(self._samples), JOINTS), np.float32)
        final = np.empty((1, STATE_SIZE))
        self._kernel(genome[None], self.noise, random, self._samples, snapshots, trace, final, steps)
        return trace[: steps[0] + 1]

    def _start(self) -> NDArray[np.float64]:
        state = np.empty(STATE_SIZE)
        begin(state)
        return state

    def _descriptor(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        return states[:, JOINTS : JOINTS + 2].copy()

    def _world_point(self, descriptor: NDArray[np.float64]) -> NDArray[np.float64]:
        return descriptor

    def _fixed_shapes(self) -> Shapes:
        corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in WALLS]
        return quads(np.array(corners), WALL)

    def places(self, snapshots: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ends of the links, from the base outwards."""
        heading = math.pi / 2 + np.cumsum(snapshots, axis=1)
        return np.stack(
            [
                BASE[0] + np.cumsum(np.cos(heading) * LINK, axis=1),
                BASE[1] + np.cumsum(np.sin(heading) * LINK, axis=1),
            ],
            axis=-1,
        )

    def _moving_shapes(self, snapshots: NDArray[np.float64], *, for_people: bool) -> Shapes:
        joints = self.places(snapshots)
        points = np.concatenate([np.broadcast_to(BASE, (len(joints), 1, 2)), joints], axis=1)
        end = discs(points[:, -1:], 0.018, RED, least=1.8)
        if self.shows == "end-effector" and not for_people:
            return end
        links = lines(points[:, :-1], points[:, 1:], 0.008, BLUE, least=0.7)
        base = discs(points[:, :1], 0.016, WALL, least=1.4)
        return np.concatenate([links, base, end], axis=1)

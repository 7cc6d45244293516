"""HardMaze: a wheeled robot finds its way through a deceptive maze."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from stax.compiling import kernel, source_stamp
from stax.policies import forward
from stax.tasks.compiled import CompiledTask, areas
from stax.tasks.drawing import BLUE, ORANGE, WALL, Shapes, View, discs, lines, quads
from stax.tasks.hard_maze_physics import LASERS, PUBLISHED, ROBOT_RADIUS, SIZE, WALLS, reset, step
from stax.tasks.noise import disturb_actions, disturb_sensors
from stax.tasks.task import States

POLICY_SIZES = (5, 5, 5, 2)
HORIZON = 2000
STATE_SIZE = 8
SNAPSHOT_SIZE = 3

SENSORS = {"lasers": LASERS, "published-code": PUBLISHED}
_NO_TRACE = np.empty((0, STATE_SIZE))


def _make_simulate(stamp, noisy):
    # Noise is a constant of the kernel, so that rollouts without it cost what they would cost if there were none.
    @kernel
    def simulate(genomes, sensors, noise, random, samples, snapshots, trace, final):
        """Run every genome; `trace` takes the states of the first one, if it is not empty."""
        _ = stamp
        state, values, scratch = np.empty(STATE_SIZE), np.empty(5), np.empty(5)
        for n in range(genomes.shape[0]):
            reset(state, sensors)
            if trace.size:
                trace[0] = state
            sample = 0
            for t in range(HORIZON):
                values[:] = state[3:]
                if noisy:
                    disturb_sensors(values, 5, noise[0], random, n)
                forward(genomes[n], POLICY_SIZES, values, scratch)
                if noisy:
                    disturb_actions(values, 2, noise[1], random, n)
                step(state, values[0], values[1], sensors)
                if trace.size:
                    trace[t + 1] = state
                if sample < samples.size and samples[sample] == t:
                    for i in range(SNAPSHOT_SIZE):
                        snapshots[n, sample, i] = state[i]
                    sample += 1
            final[n] = state

    return simulate


def _make_kernels(stamp):
    @kernel
    def begin(state, sensors):
        """Write the state at the start of an episode into `state`."""
        _ = stamp
        reset(state, sensors)

    @kernel
    def advance(state, left, right, sensors):
        """Do one step of one robot."""
        _ = stamp
        step(state, left, right, sensors)

    return begin, advance


_STAMP = source_stamp("policies.py", "tasks/hard_maze_physics.py", "tasks/noise.py")
simulate, simulate_noisy = _make_simulate(_STAMP, False), _make_simulate(_STAMP, True)
begin, advance = _make_kernels(_STAMP)


class HardMaze(CompiledTask):
    """Task in which a two-wheeled robot drives 2000 steps through a maze with dead ends, rewarded in one of two areas.

    A state is x, y, heading and the five sensor readings. The policy sees the readings and sets the wheels' speeds.

    Args:
        sensors: "lasers", five lasers scaled to [0, 1] as in the paper; or "published-code", three lasers in world units and two
            bumpers as in the authors' code.
        options: those of `CompiledTask`.
    """

    name = "hard-maze"
    policy_sizes = POLICY_SIZES
    horizon = HORIZON
    state_size = STATE_SIZE
    snapshot_size = SNAPSHOT_SIZE
    ground_truth_bounds = ((0.0, 1.0), (0.0, 1.0))
    reward_areas = areas(("far end", (60 / SIZE, 60 / SIZE), 50 / SIZE), ("dead end", (100 / SIZE, 200 / SIZE), 50 / SIZE))
    choices = MappingProxyType({"sensors": tuple(SENSORS)})
    view = View(left=-1.5, top=-1.5, width=SIZE, y_down=True)

    def __init__(
        self,
        *,
        sensors: str = "lasers",
        sensor_noise: float = 0.0,
        action_noise: float = 0.0,
        seed: int = 0,
        episodes: int = 1,
        threads: int | None = None,
    ) -> None:
        self.sensors = self._choose("sensors", sensors)
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
        self._kernel(genomes, SENSORS[self.sensors], self.noise, random, self._samples, snapshots, _NO_TRACE, final)
        steps[:] = HORIZON

    def _trace(self, genome: NDArray[np.float64], random: NDArray[np.uint64]) -> States:
        trace = np.empty((HORIZON + 1, STATE_SIZE))
        snapshots = np.empty((1, len(self._samples), SNAPSHOT_SIZE), np.float32)
        final = np.empty((1, STATE_SIZE))
        self._kernel(genome[None], SENSORS[self.sensors], self.noise, random, self._samples, snapshots, trace, final)
        return trace

    def _start(self) -> NDArray[np.float64]:
        state = np.empty(STATE_SIZE)
        begin(state, SENSORS[self.sensors])
        return state

    def _descriptor(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        return states[:, :2] / SIZE

    def _world_point(self, descriptor: NDArray[np.float64]) -> NDArray[np.float64]:
        return descriptor * SIZE

    def _fixed_shapes(self) -> Shapes:
        return quads(WALLS, WALL)

    def places(self, snapshots: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the position of the robot."""
        return snapshots[:, None, :2].copy()

    def _moving_shapes(self, snapshots: NDArray[np.float64], *, for_people: bool) -> Shapes:
        center, heading = snapshots[:, :2], snapshots[:, 2]
        nose = center + 1.6 * ROBOT_RADIUS * np.stack([np.cos(heading), np.sin(heading)], axis=-1)
        robot = discs(center, ROBOT_RADIUS, BLUE, least=2.2)
        return np.stack([robot, lines(center, nose, 0.25 * ROBOT_RADIUS, ORANGE, least=0.55)], axis=1)

"""Curling: a two-link arm pushes a ball over a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stax.compiling import inner, kernel, source_stamp
from stax.policies import forward
from stax.tasks.compiled import CompiledTask, areas
from stax.tasks.curling_physics.contacts import reset
from stax.tasks.curling_physics.scene import (
    ANGLE,
    BALL,
    BALL_RADIUS,
    LINK_0,
    LINK_1,
    SPIN,
    TABLE_CENTER,
    X,
    Y,
    compiled,
    new_worlds,
)
from stax.tasks.curling_physics.stepping import new_solver, step
from stax.tasks.curling_physics.subnormals import FLUSH, float_control, set_float_control
from stax.tasks.drawing import BLUE, GREEN, RED, WALL, Color, Shapes, View, discs, quads
from stax.tasks.noise import NO_STATES, disturb_actions, disturb_sensors
from stax.tasks.task import States

POLICY_SIZES = (6, 5, 5, 5, 2)
HORIZON = 500
STATE_SIZE = 6
SNAPSHOT_SIZE = 4
BASE = np.array([0.0, -1.5])
"""Position at which the arm is fixed."""

_POOL = 128
_NO_GENOME = np.zeros((1, 1))
_NO_ACTIONS = np.empty((0, 2))
_NO_TRACE = np.empty((0, 0, STATE_SIZE))
_NO_SNAPSHOTS = np.empty((0, 0, SNAPSHOT_SIZE), np.float32)
_NO_SAMPLES = np.empty(0, np.int64)


@inner
def _read(worlds, lane, values):
    """Return the state for the policy and for people: ball x, y; joint angles; joint speeds."""
    values[0] = worlds.body[lane, BALL, X] - TABLE_CENTER
    values[1] = worlds.body[lane, BALL, Y] - TABLE_CENTER
    values[2] = worlds.body[lane, LINK_0, ANGLE]
    values[3] = worlds.body[lane, LINK_1, ANGLE] - worlds.body[lane, LINK_0, ANGLE]
    values[4] = worlds.body[lane, LINK_0, SPIN]
    values[5] = worlds.body[lane, LINK_1, SPIN] - worlds.body[lane, LINK_0, SPIN]


@inner
def _clipped(speed):
    return np.float32(min(max(speed, -1.0), 1.0)) if speed == speed else np.float32(0.0)


@compiled
def _run(
    genomes, actions, noise, random, worlds, solver, motors, first, last, samples, snapshots, trace, final, values, scratch
):
    """Do the kernel's work. It allocates nothing and raises nothing, so that the kernel always reaches its last line."""
    pool = worlds.body.shape[0]
    for start in range(0, genomes.shape[0], pool):
        active = min(pool, genomes.shape[0] - start)
        for lane in range(active):
            if first == 0:
                reset(worlds, lane)
            if trace.size:
                _read(worlds, lane, trace[start + lane, 0])
        sample = 0
        for t in range(first, last):
            for lane in range(active):
                if actions.size:
                    values[0], values[1] = actions[t - first, 0], actions[t - first, 1]
                else:
                    _read(worlds, lane, values)
                    if random.size:
                        disturb_sensors(values, STATE_SIZE, noise[0], random, start + lane)
                    forward(genomes[start + lane], POLICY_SIZES, values, scratch)
                    if random.size:
                        disturb_actions(values, 2, noise[1], random, start + lane)
                motors[lane, 0] = _clipped(values[0])
                motors[lane, 1] = _clipped(values[1])
            step(worlds, solver, motors, active)
            for lane in range(active):
                if trace.size:
                    _read(worlds, lane, trace[start + lane, t - first + 1])
            if sample < samples.size and samples[sample] == t:
                for lane in range(active):
                    _read(worlds, lane, values)
                    for i in range(SNAPSHOT_SIZE):
                        snapshots[start + lane, sample, i] = values[i]
                sample += 1
        for lane in range(active):
            _read(worlds, lane, final[start + lane])


def _make_simulate(stamp):
    # One kernel for rollouts, replays and single steps, because this simulator takes longest to compile.
    @kernel
    def simulate(genomes, actions, noise, random, worlds, solver, motors, first, last, samples, snapshots, trace, final):
        """Do the steps `first` to `last` of every genome, driven by its policy or, if there are any, by `actions`.

        `random` holds the states of the generators of noise, and is empty without noise; `noise` is its standard deviations.
        Begins at the start if `first` is 0, else continues with the worlds as they are. Subnormal numbers count as zero meanwhile.
        """
        _ = stamp
        values, scratch = np.empty(STATE_SIZE), np.empty(STATE_SIZE)
        control = float_control()
        set_float_control(control | FLUSH)
        _run(
            genomes,
            actions,
            noise,
            random,
            worlds,
            solver,
            motors,
            first,
            last,
            samples,
            snapshots,
            trace,
            final,
            values,
            scratch,
        )
        set_float_control(control)

    return simulate


_simulate = _make_simulate(source_stamp("policies.py", "tasks/curling_physics", "tasks/noise.py"))


class Tables:
    """Several tables, and the working memory to step them together."""

    def __init__(self, count: int) -> None:
        self._worlds = new_worlds(count)
        self._solver = new_solver(count)
        self._motors = np.zeros((count, 2), np.float32)

    def run(
        self,
        genomes: NDArray[np.float64],
        first: int,
        last: int,
        *,
        actions: NDArray[np.float64] = _NO_ACTIONS,
        noise: tuple[float, ...] = (0.0, 0.0),
        random: NDArray[np.uint64] = NO_STATES,
        samples: NDArray[np.int64] = _NO_SAMPLES,
        snapshots: NDArray[np.float32] = _NO_SNAPSHOTS,
        trace: NDArray[np.float64] = _NO_TRACE,
        final: NDArray[np.float64],
    ) -> None:
        """Call the kernel, which describes the arguments."""
        memory = self._worlds, self._solver, self._motors
        _simulate(genomes, actions, noise, random, *memory, first, last, samples, snapshots, trace, final)


class Table:
    """One table that is stepped from Python, as the Gymnasium environment does."""

    def __init__(self) -> None:
        self._tables = Tables(1)
        self._steps = 0
        self.state = np.empty(STATE_SIZE)

    def reset(self) -> None:
        self._steps = 0
        self._run(_NO_ACTIONS)

    def step(self, action: NDArray[np.float64]) -> None:
        self._run(np.ascontiguousarray(action, np.float64).reshape(1, 2))

    def _run(self, actions: NDArray[np.float64]) -> None:
        last, final = self._steps + len(actions), np.empty((1, STATE_SIZE))
        self._tables.run(_NO_GENOME, self._steps, last, actions=actions, final=final)
        self._steps, self.state = last, final[0]


def _link(start: NDArray[np.float64], end: NDArray[np.float64], color: Color) -> Shapes:
    """Return a box of length 1 and width 0.1 from the middle of one short side to that of the other."""
    side = 0.05 * np.stack([start[:, 1] - end[:, 1], end[:, 0] - start[:, 0]], axis=-1)
    return quads(np.stack([start - side, end - side, end + side, start + side], axis=1), color)


class Curling(CompiledTask):
    """Task in which a two-link arm pushes a ball over a square table, rewarded if the ball ends in one of two areas.

    A state is the ball's x and y, the two joint angles and the two joint speeds; the policy sees all six and sets the speeds
    of the joints' motors. The physics are those of Box2D 2.3, with the same steps and roundings.
    """

    name = "curling"
    policy_sizes = POLICY_SIZES
    horizon = HORIZON
    state_size = STATE_SIZE
    snapshot_size = SNAPSHOT_SIZE
    ground_truth_bounds = ((-1.35, 1.35), (-1.35, 1.35))
    reward_areas = areas(("upper right", (0.8, 0.8), 0.4), ("lower right", (0.8, -0.8), 0.2))
    view = View(left=-1.6, top=1.6, width=3.2, y_down=False)
    _grain = _POOL

    def _simulate(
        self,
        genomes: NDArray[np.float64],
        random: NDArray[np.uint64],
        snapshots: NDArray[np.float32],
        final: NDArray[np.float64],
        steps: NDArray[np.int64],
    ) -> None:
        tables = Tables(min(_POOL, len(genomes)))
        tables.run(
            genomes, 0, HORIZON, noise=self.noise, random=random, samples=self._samples, snapshots=snapshots, final=final
        )
        steps[:] = HORIZON

    def _trace(self, genome: NDArray[np.float64], random: NDArray[np.uint64]) -> States:
        trace = np.empty((1, HORIZON + 1, STATE_SIZE))
        Tables(1).run(genome[None], 0, HORIZON, noise=self.noise, random=random, trace=trace, final=np.empty((1, STATE_SIZE)))
        return trace[0]

    def _start(self) -> NDArray[np.float64]:
        table = Table()
        table.reset()
        return table.state

    def _descriptor(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        return states[:, :2].copy()

    def _world_point(self, descriptor: NDArray[np.float64]) -> NDArray[np.float64]:
        return descriptor

    def _fixed_shapes(self) -> Shapes:
        inner, outer = 1.45, 1.55
        walls = [[(-outer, a), (outer, a), (outer, b), (-outer, b)] for a, b in ((-outer, -inner), (inner, outer))]
        walls += [[(a, -outer), (a, outer), (b, outer), (b, -outer)] for a, b in ((-outer, -inner), (inner, outer))]
        return quads(np.array(walls), WALL)

    def places(self, snapshots: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions of the ball, the joint between the links, and the end of the second link."""
        ball, first, second = snapshots[:, :2], snapshots[:, 2], snapshots[:, 2] + snapshots[:, 3]
        hinge = BASE + np.stack([-np.sin(first), np.cos(first)], axis=-1)
        return np.stack([ball, hinge, hinge + np.stack([-np.sin(second), np.cos(second)], axis=-1)], axis=1)

    def _moving_shapes(self, snapshots: NDArray[np.float64], *, for_people: bool) -> Shapes:
        ball, hinge, hand = np.moveaxis(self.places(snapshots), 1, 0)
        base, along = np.broadcast_to(BASE, ball.shape), hand - hinge
        return np.stack(
            [
                _link(base, hinge, BLUE),
                _link(hinge - 0.1 * along, hinge + 0.9 * along, GREEN),
                discs(ball, float(BALL_RADIUS), RED),
            ],
            axis=1,
        )

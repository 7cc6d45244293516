"""Simulation of the Redundant Arm: a planar chain of 20 links that must touch neither itself, nor a wall, nor the border.

The base is fixed in the middle of the unit square. Each angle is relative to the previous link, and the first link's
direction is pi / 2 plus the first angle. A step is two substeps; an illegal substep is not carried out and ends the
episode.

The state is one float64 array of `STATE_SIZE` numbers:

    state[0:20]   the joint angles, in radians, never wrapped
    state[20:22]  x and y of the end effector
    state[22:42]  the joint speeds, in radians per unit of time

The scratch buffer, of `SCRATCH_SIZE` numbers, carries nothing from one step to the next and needs no preparation.

To find self-collisions, points a fixed number of links apart are compared in loops of constant length without branches, which
the compiler turns into vector instructions.
"""

from __future__ import annotations

import math

import numpy as np

from stax.compiling import inner

JOINTS = 20
HORIZON = 100
SUBSTEPS = 2
TIME_STEP = 0.01
BASE = (0.5, 0.5)
LINK = 1 / 20
WALLS = np.array([[0.49, 0.0, 0.02, 0.2], [0.49, 0.8, 0.02, 0.2], [0.0, 0.49, 0.2, 0.02], [0.8, 0.49, 0.2, 0.02]])
START_ANGLES = np.linspace(4 * math.pi / JOINTS, math.pi / JOINTS, JOINTS)

STATE_SIZE = 42
_END = JOINTS
_SPEEDS = JOINTS + 2

# Joint points closer than this, in Manhattan distance, count as the arm touching itself.
_CLEARANCE = 0.95 * LINK

# The scratch buffer: the angles a substep leads to, then x and y of the points. The points are followed by padding, so
# that the comparison of points can run over whole vectors.
_POINTS = JOINTS + 1
_PADDED = 25
_X = JOINTS
_Y = _X + _PADDED
SCRATCH_SIZE = _Y + _PADDED
_FAR = 1e9

# The walls come as an upright and a lying pair, each pair sharing one strip. Scalars, because the compiler folds them.
_STRIP_LOW, _STRIP_HIGH = WALLS[0, 0], WALLS[0, 0] + WALLS[0, 2]
_FIRST_LOW, _FIRST_HIGH = WALLS[0, 1], WALLS[0, 1] + WALLS[0, 3]
_SECOND_LOW, _SECOND_HIGH = WALLS[1, 1], WALLS[1, 1] + WALLS[1, 3]


@inner
def _place(angles, x, y):
    """Write the coordinates of the 21 joint points, base first, of an arm with these angles."""
    point_x, point_y = BASE
    x[0] = point_x
    y[0] = point_y
    heading = math.pi / 2
    for i in range(JOINTS):
        heading += angles[i]
        point_x += math.cos(heading) * LINK
        point_y += math.sin(heading) * LINK
        x[i + 1] = point_x
        y[i + 1] = point_y


@inner
def _blocked(scratch):
    """Return whether a joint point is outside the unit square or strictly inside a wall."""
    hits = 0
    # No branches, so that the compiler makes vectors of it; without the base, which never moves, 20 points fill them.
    for i in range(1, _POINTS):
        x, y = scratch[_X + i], scratch[_Y + i]
        within = (x >= 0.0) & (x < 1.0) & (y >= 0.0) & (y < 1.0)
        beside_x = ((x > _FIRST_LOW) & (x < _FIRST_HIGH)) | ((x > _SECOND_LOW) & (x < _SECOND_HIGH))
        beside_y = ((y > _FIRST_LOW) & (y < _FIRST_HIGH)) | ((y > _SECOND_LOW) & (y < _SECOND_HIGH))
        upright = (x > _STRIP_LOW) & (x < _STRIP_HIGH) & beside_y
        lying = (y > _STRIP_LOW) & (y < _STRIP_HIGH) & beside_x
        hits |= np.int64((not within) | upright | lying)
    return hits != 0


@inner
def _close(scratch, i, j):
    """Return 1 if points i and j are too close to each other, else 0."""
    distance = abs(scratch[_X + i] - scratch[_X + j]) + abs(scratch[_Y + i] - scratch[_Y + j])
    return np.int64(distance < _CLEARANCE)


@inner
def _close_four(scratch, gap, count):
    """Return non-zero if any of the first `count` points is too close to one of those gap, ..., gap + 3 links further on."""
    hits = 0
    for i in range(count):
        j = i + gap
        hits |= _close(scratch, i, j) | _close(scratch, i, j + 1)
        hits |= _close(scratch, i, j + 2) | _close(scratch, i, j + 3)
    return hits


@inner
def _touches_itself(scratch):
    """Return whether two joint points are too close to each other.

    Neighbours are one link apart and always pass, so the first gap is 2. The counts are constants and multiples of four, so
    that the compiler can use full vectors; where that is more points than have a partner, the padding is far away.
    """
    hits = _close_four(scratch, 2, 20)
    hits |= _close_four(scratch, 6, 16)
    hits |= _close_four(scratch, 10, 12)
    hits |= _close_four(scratch, 14, 8)
    hits |= _close_four(scratch, 18, 4)
    return hits != 0


@inner
def reset(state):
    """Set the arm to its starting spiral, at rest."""
    x, y = np.empty(_POINTS), np.empty(_POINTS)
    _place(START_ANGLES, x, y)
    for i in range(JOINTS):
        state[i] = START_ANGLES[i]
        state[_SPEEDS + i] = 0.0
    state[_END] = x[JOINTS]
    state[_END + 1] = y[JOINTS]


@inner
def step(state, torques, scratch):
    """Advance the state by one step, in place, and return whether an illegal substep ended the episode."""
    for i in range(_POINTS, _PADDED):
        scratch[_X + i] = _FAR
        scratch[_Y + i] = _FAR
    for _ in range(SUBSTEPS):
        for i in range(JOINTS):
            scratch[i] = state[i] + state[_SPEEDS + i] * TIME_STEP + torques[i] / 2 * TIME_STEP**2
        _place(scratch, scratch[_X:], scratch[_Y:])
        x, y = scratch[_X + JOINTS], scratch[_Y + JOINTS]
        displacement = math.sqrt((x - state[_END]) ** 2 + (y - state[_END + 1]) ** 2)
        if displacement / 2 + state[_SPEEDS + JOINTS - 1] > 1.0 or _blocked(scratch) or _touches_itself(scratch):
            return True
        for i in range(JOINTS):
            state[_SPEEDS + i] = (scratch[i] - state[i]) / TIME_STEP
            state[i] = scratch[i]
        state[_END] = x
        state[_END + 1] = y
    return False

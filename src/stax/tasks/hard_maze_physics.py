"""Simulation of the HardMaze: a two-wheeled robot with laser range finders among the walls of a grid map.

The world is 600 x 600 units, y pointing down, laid out in square cells of side 3. A cell is a wall or free, and
collisions and lasers only ever look at cells.

The original simulator keeps pose and readings in 32-bit floats and computes some things in 64 bits in between.
`_round32` marks every place where it rounds; with exactly these, a step from a recorded state gives the recorded next
pose and readings to the last bit. The state is nevertheless stored as float64, so that it can feed the policy directly.

A laser leaps over the largest free square ahead of it, which gives exactly the reading of a walk from cell to cell.
"""

from __future__ import annotations

import math

import numpy as np

from stax.compiling import inner

LASERS = 0  # five lasers at -90, -45, 0, 45 and 90 degrees, divided by their range
PUBLISHED = 1  # lasers at 45, 0 and -45 degrees in world units, then the left and the right bumper

# --- The map ----------------------------------------------------------------------------------------------------------

SIZE = 600.0
CELL = 3.0
CELLS = 200
START = (60.0, 450.0, math.pi / 4.0)
ROBOT_RADIUS = 10.0
LASER_RANGE = 100.0
_LONGEST = math.ceil(LASER_RANGE / CELL)  # in cells: the most a laser's two ends are apart along an axis


def _rectangle(x0, y0, x1, y1):
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


# The corners of every wall in order around it, in world units.
WALLS = np.array(
    [
        _rectangle(-1.5, -1.5, 598.5, 7.5),
        _rectangle(-1.5, 589.5, 598.5, 598.5),
        _rectangle(-1.5, -1.5, 7.5, 598.5),
        _rectangle(589.5, -1.5, 598.5, 598.5),
        _rectangle(166.5, 142.5, 181.5, 457.5),
        [(2.0, 123.5), (173.3, 136.7), (182.4, 155.1), (-10.6, 141.4)],
        [(168.3, 137.3), (391.9, 70.8), (399.3, 83.8), (171.5, 155.1)],
        [(11.5, 212.4), (113.6, 343.0), (98.5, 350.1), (0.8, 223.5)],
        [(259.2, 249.6), (597.4, 426.1), (591.6, 438.4), (255.9, 263.1)],
        [(183.5, 301.8), (464.8, 459.0), (457.9, 470.9), (176.3, 313.5)],
        [(327.7, 477.0), (218.6, 603.1), (208.9, 591.2), (317.1, 467.1)],
    ]
)

# The original's map is a bitmap, not exactly the polygons'. A single cell can send a robot another way, so the cells
# that differ, as (column, row), were measured: benchmarks/measure_maze_map.py finds them from recorded laser readings
# of the original alone, all of which they explain. A few cells that no recorded laser met may still differ.
# fmt: off
MEASURED_WALLS = [
    (3, 79), (4, 80), (8, 76), (12, 90), (13, 91), (26, 99), (29, 112), (35, 116),  # the third slanted wall
    (69, 48), (127, 30), (130, 29), (131, 29), (132, 29),  # the second
]
MEASURED_FREE = [
    (4, 72), (36, 112), (37, 114),  # the third slanted wall
    (71, 196), (82, 183), (106, 156), (108, 160), (109, 159),  # the sixth
    (151, 156),  # the fifth
]
# fmt: on


def polygon_cells():
    """Return the cells, indexed [column, row], whose centre lies within one of the (convex) polygons `WALLS`."""
    center = CELL * np.arange(CELLS)
    x, y = center[:, None], center[None, :]
    cells = np.zeros((CELLS, CELLS), dtype=bool)
    for corners in WALLS:
        inside = np.ones((CELLS, CELLS), dtype=bool)
        for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            inside &= (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) >= 0.0
        cells |= inside
    return cells


def original_cells():
    """Return the walls of the original, indexed [column, row]: the polygons' cells with the measured ones."""
    cells = polygon_cells()
    cells[tuple(np.transpose(MEASURED_WALLS))] = True
    cells[tuple(np.transpose(MEASURED_FREE))] = False
    return cells


def _shifted(cells, columns, rows, outside):
    """Return `cells` shifted: out[i, j] = cells[i + columns, j + rows]."""
    padding = max(abs(columns), abs(rows))
    padded = np.pad(cells, padding, constant_values=outside)
    return padded[padding + columns :, padding + rows :][:CELLS, :CELLS]


def find_free_squares(cells):
    """Return, for each diagonal direction and cell, the side of the largest free square with that cell as its near corner.

    A laser heading that way can jump that many cells ahead before it has to look for a wall. The directions, numbered
    2 (x grows) + (y grows), follow each other in one flat array; a side of 0 is a wall. Sides stop at a laser's range.
    """
    squares = np.zeros((4, CELLS, CELLS), dtype=np.uint8)
    for direction in range(4):
        step_x, step_y = (1 if direction & 2 else -1), (1 if direction & 1 else -1)
        sides = squares[direction, ::step_x, ::step_y]
        free = ~cells[::step_x, ::step_y]
        for _ in range(_LONGEST):
            sides += free
            smaller, free = free, np.zeros_like(free)
            free[:-1, :-1] = smaller[:-1, :-1] & smaller[1:, :-1] & smaller[:-1, 1:] & smaller[1:, 1:]
    return squares.ravel()


# The cells within reach of the robot lie in 16 directions, one bit each. Its own cell, never reached by a wall before
# the others are, counts as the one along x.
_REACH = round(ROBOT_RADIUS / CELL)
_OFFSETS = [(i, j) for i in range(-_REACH, _REACH + 1) for j in range(-_REACH, _REACH + 1) if i * i + j * j <= _REACH * _REACH]
BEARINGS = np.unique([np.float32(math.atan2(j, i)) for i, j in _OFFSETS]).astype(np.float64)


def find_touching(cells):
    """Return, for each cell, flat, the bearings at which a robot in that cell touches a wall, as bits; 0 if it fits there."""
    touching = np.zeros((CELLS, CELLS), dtype=np.uint16)
    for i, j in _OFFSETS:
        bit = np.searchsorted(BEARINGS, np.float32(math.atan2(j, i)))
        touching |= _shifted(cells, i, j, True).astype(np.uint16) << np.uint16(bit)
    return touching.ravel()


WALL_CELLS = original_cells()
FREE_SQUARES = find_free_squares(WALL_CELLS)
TOUCHING = find_touching(WALL_CELLS)

# --- Numbers ----------------------------------------------------------------------------------------------------------

_TURN = 2.0 * math.pi
_QUARTER = math.pi / 2.0
_QUARTER_HIGH = float(np.float32(_QUARTER))
_QUARTER_LOW = (_QUARTER - _QUARTER_HIGH) + 6.123233995736766e-17  # what the 64-bit pi / 2 lacks of the true one
_EIGHTH = math.pi / 4.0
_HALF_ROOT = math.sqrt(0.5)

# A ray that runs `longer` by `shorter` cells has gone k shorter / longer cells across after k steps, rounded, halves
# down. With these fixed-point numbers that is exact, and far quicker than a division.
_SHIFT = 32
_INVERSE = np.array([0] + [2**_SHIFT // n for n in range(1, _LONGEST + 1)], dtype=np.int64)
_BASE = np.array([0] + [2**_SHIFT // 2 - 2**_SHIFT // (4 * n) for n in range(1, _LONGEST + 1)], dtype=np.int64)

# The coefficients of sine (odd) and cosine (even) by power.
_TAYLOR = tuple((-1.0) ** (n // 2) / math.factorial(n) for n in range(17))


@inner
def _round32(value):
    return np.float64(np.float32(value))


@inner
def _sine_cosine(angle):
    """Compute sine and cosine of a 32-bit angle of a few turns at most, to within the last bit or so of 64.

    Unlike the C library's, these share one reduction, are inlined, and give the same bits on every machine.
    """
    quarters = math.floor(angle * (1.0 / _QUARTER) + 0.5)
    rest = (angle - quarters * _QUARTER_HIGH) - quarters * _QUARTER_LOW
    # The Taylor series, summed in pairs rather than from the end: a step waits for these, and pairs are ready sooner.
    z = rest * rest
    z2 = z * z
    z4 = z2 * z2
    sine = (_TAYLOR[3] + z * _TAYLOR[5]) + z2 * (_TAYLOR[7] + z * _TAYLOR[9])
    sine += z4 * ((_TAYLOR[11] + z * _TAYLOR[13]) + z2 * _TAYLOR[15])
    sine = rest + rest * z * sine
    cosine = (_TAYLOR[4] + z * _TAYLOR[6]) + z2 * (_TAYLOR[8] + z * _TAYLOR[10])
    cosine += z4 * ((_TAYLOR[12] + z * _TAYLOR[14]) + z2 * _TAYLOR[16])
    cosine = 1.0 + (z * _TAYLOR[2] + z2 * cosine)
    quadrant = int(quarters) & 3
    if quadrant & 1:
        sine, cosine = cosine, sine
    if quadrant & 2:
        sine = -sine
    if (quadrant + 1) & 2:
        cosine = -cosine
    return sine, cosine


@inner
def _wrap(angle):
    if angle > math.pi:
        angle -= _TURN
    elif angle < -math.pi:
        angle += _TURN
    return _round32(angle)


@inner
def _cell(position):
    """Return the cell of a coordinate; halves are rounded away from zero."""
    return np.int64(position * (1.0 / CELL) + math.copysign(0.5, position))


@inner
def _wheel_speed(value):
    """Return a wheel's speed as the original holds it, clipped to [-1, 1]; nan counts as 0.

    The lookups check no bounds: they rely on the robot moving by less than the walls are thick.
    """
    if value > 1.0:
        return 1.0
    if value < -1.0:
        return -1.0
    if math.isnan(value):
        return 0.0
    return _round32(value)


# --- Sensors ----------------------------------------------------------------------------------------------------------


@inner
def _laser(free_squares, x, y, column, row, heading, offset, sine, cosine):
    """Return the distance from (x, y), in the cell (column, row), to the first wall, at most the range.

    The laser points at heading + offset; `sine` and `cosine` are those of this sum.

    The ray is a line of cells from the robot's to the one at range: at its k-th step it is k cells along its longer
    axis (y on ties) and `across` cells along the other, with `error` in (0, 2 longer] left over. Where `across` has
    just grown, the line has crossed a corner, and the cell on the side on which it passed (both, if through the corner
    itself) is looked at too. The border walls stop every ray, so that no step leaves the map.
    """
    # The original rounds the sum first; two terms of the series make up for it.
    turn = (_round32(heading + offset) - heading) - offset
    sine, cosine = sine + turn * (cosine - 0.5 * turn * sine), cosine - turn * (sine + 0.5 * turn * cosine)
    columns = _cell(_round32(x + _round32(LASER_RANGE * _round32(cosine)))) - column
    rows = _cell(_round32(y + _round32(LASER_RANGE * _round32(sine)))) - row
    step_x, step_y = (columns >> 63) | 1, (rows >> 63) | 1
    columns, rows = abs(columns), abs(rows)
    along_x = columns > rows
    longer, shorter = max(columns, rows), min(columns, rows)
    along = step_x * CELLS if along_x else step_y
    sideways = step_y if along_x else step_x * CELLS
    start = ((step_x + 1) + (step_y + 1) // 2) * (CELLS * CELLS) + column * CELLS + row
    squares = FREE_SQUARES if free_squares is None else free_squares
    slope = shorter * _INVERSE[np.uint64(longer)]
    base = _BASE[np.uint64(longer)]
    k = np.int64(squares[np.uint64(start)])
    while k <= longer:
        across = (base + slope * k) >> _SHIFT
        error = longer + 2 * (shorter * k - longer * across)
        here = start + k * along + across * sideways
        free = np.int64(squares[np.uint64(here)])
        # All are looked up and combined without a branch, because a processor could not predict it.
        hit_along = (squares[np.uint64(here - sideways)] == 0) & (error <= shorter)
        hit_across = (squares[np.uint64(here - along)] == 0) & (error >= shorter) & (error <= 2 * shorter)
        if (free == 0) | hit_along | hit_across:
            columns = k if along_x else across
            rows = across if along_x else k
            x = _round32(x - CELL * (column + step_x * columns))
            y = _round32(y - CELL * (row + step_y * rows))
            return min(_round32(math.sqrt(_round32(_round32(x * x) + _round32(y * y)))), LASER_RANGE)
        k += free
    return LASER_RANGE


@inner
def read_lasers(state, sensors, free_squares=None):
    """Read the lasers at the state's pose, in place; `find_free_squares` of another map can be passed."""
    x, y = state[0], state[1]
    column, row = _cell(x), _cell(y)
    heading = state[2]
    # All lasers are at multiples of 45 degrees, so one sine and cosine give the others.
    sine, cosine = _sine_cosine(heading)
    total, difference = (cosine + sine) * _HALF_ROOT, (cosine - sine) * _HALF_ROOT
    ahead = _laser(free_squares, x, y, column, row, heading, 0.0, sine, cosine)
    half_right = _laser(free_squares, x, y, column, row, heading, _EIGHTH, total, difference)
    half_left = _laser(free_squares, x, y, column, row, heading, -_EIGHTH, -difference, total)
    if sensors == PUBLISHED:
        state[3] = half_right
        state[4] = ahead
        state[5] = half_left
    else:
        state[3] = _round32(_laser(free_squares, x, y, column, row, heading, -_QUARTER, -cosine, sine) / LASER_RANGE)
        state[4] = _round32(half_left / LASER_RANGE)
        state[5] = _round32(ahead / LASER_RANGE)
        state[6] = _round32(half_right / LASER_RANGE)
        state[7] = _round32(_laser(free_squares, x, y, column, row, heading, _QUARTER, cosine, -sine) / LASER_RANGE)


@inner
def _bumpers(touching, heading):
    """Return whether a wall touches in front of the robot on its left and on its right, as 1.0 or 0.0."""
    left, right = 0, 0
    for i in range(BEARINGS.size):
        bearing = _wrap(_round32(BEARINGS[i] - heading))
        touches = (np.int64(touching) >> i) & 1
        left |= touches & np.int64((bearing < 0.0) & (bearing > -_QUARTER))
        right |= touches & np.int64((bearing > 0.0) & (bearing < _QUARTER))
    return float(left), float(right)


# --- The robot --------------------------------------------------------------------------------------------------------


@inner
def reset(state, sensors):
    """Put the robot at the start. `state` is x, y, heading and five readings, which are the policy's inputs.

    With `PUBLISHED` sensors the first readings are those of open space: the original takes none before its first step.
    """
    state[0] = START[0]
    state[1] = START[1]
    state[2] = _round32(START[2])
    if sensors == PUBLISHED:
        for i in range(3):
            state[3 + i] = LASER_RANGE
        state[6] = 0.0
        state[7] = 0.0
    else:
        read_lasers(state, sensors)


@inner
def step(state, left, right, sensors, free_squares=None, touching_there=None):
    """Drive one step with these wheel speeds and read the sensors, in place.

    A robot that would touch a wall turns but stays where it is. Another map can be passed by its
    `find_free_squares` and `find_touching`; without them, the compiler removes these arguments.
    """
    left, right = _wheel_speed(left), _wheel_speed(right)
    heading = state[2]
    turn = _round32(_round32(right - left) / (2.0 * ROBOT_RADIUS))
    if abs(turn) > 1e-10:
        radius = _round32(_round32(left / turn) + ROBOT_RADIUS)
        sine, cosine = _sine_cosine(turn)
        sideways, forward = (cosine - 1.0) * radius, sine * radius
        # The original has the arc start out along y, hence the quarter turn back.
        sine, cosine = _sine_cosine(_round32(heading - _QUARTER))
        x = state[0] + _round32(cosine * sideways - sine * forward)
        y = state[1] + _round32(sine * sideways + cosine * forward)
    else:
        sine, cosine = _sine_cosine(heading)
        x = state[0] + _round32(cosine * left)
        y = state[1] + _round32(sine * left)
    x, y = _round32(x), _round32(y)
    heading = _wrap(_round32(heading + turn))
    touched = TOUCHING if touching_there is None else touching_there
    touching = touched[np.uint64(_cell(x) * CELLS + _cell(y))]
    if touching == 0:
        state[0] = x
        state[1] = y
    state[2] = heading
    read_lasers(state, sensors, free_squares)
    if sensors == PUBLISHED:
        state[6], state[7] = _bumpers(touching, heading) if touching else (0.0, 0.0)

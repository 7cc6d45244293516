"""Sequential impulses: the velocities that hinges, motors, limits and contacts allow, for several worlds at a time.

Box2D runs 100 iterations a step, each a chain of operations that wait for each other. One world at a time would leave most of
the processor idle. The numbers of `LANES` worlds are therefore next to each other in memory, and the compiler turns the innermost
loop over lanes into vector instructions. Each lane does what it would do alone, operation by operation, so the result does not depend
on the other lanes. Choices between cases are written as conditional values, not as branches, so that the loops can be vectorised.

`lane` is one flat float32 array: number `row` of lane `l` is `lane[row + l]`, with the rows named below. There are several blocks of
lanes, a row of `lanes` each, that are iterated by turns: while one waits for a result, the processor works on the next.

The iterations of a world end before the hundredth if the rest of them cannot change anything. Once its velocities and impulses are,
bit for bit, what they were two iterations before, they would only alternate between the same two states, or stay as they are.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .contacts import manifold_at
from .scene import (
    ANCHOR_A,
    ANCHOR_B,
    ANGLE,
    AT_LOWER,
    AT_UPPER,
    BALL,
    BODIES,
    COS,
    DT,
    FIRST_MOVING,
    FLIPPED,
    FREE,
    HALF,
    HINGE_LIMIT,
    HINGE_MOTOR,
    HINGE_X,
    HINGE_Y,
    INV_INERTIA,
    INV_MASS,
    LIMIT,
    LIMIT_STATE,
    LIMIT_STATE_1,
    LINK_0,
    LINK_1,
    MOTOR_TORQUE,
    OLD_NORMAL,
    OLD_TANGENT,
    ONE,
    PAIR_COUNT,
    PAIR_FRICTION,
    PAIR_RESTITUTION,
    PAIRS,
    POINTS,
    RADIUS,
    SIN,
    SPIN,
    VELOCITY_THRESHOLD,
    VX,
    VY,
    ZERO,
    X,
    Y,
    compiled,
    f32,
)

# Inlined before typing, so that no call stands between the compiler and a vector loop.
inlined = njit(inline="always", nogil=True, error_model="numpy", no_cpython_wrapper=True, _nrt=False)

LANES = 16
BLOCKS = 2

# First the contacts, one slot after the other. A slot starts with the velocities of the three moving bodies: the first slot's are
# the ones that hinges work on, the other slots have copies, so that a slot's loop stays within the slot's rows, which the compiler
# needs to see.
_BALL_X, _BALL_Y, _BALL_W, _U_X, _U_Y, _U_W, _V_X, _V_Y, _V_W = (LANES * row for row in range(9))
_VELOCITIES = LANES * 9
# Which bodies, their inverse masses, normal, friction; the matrix of two points together, its inverse, and 1 if it is to be used;
# then both points: lever arms, effective masses, restitution, accumulated impulses.
_BODY_A, _BODY_B, _M_A, _I_A, _M_B, _I_B, _N_X, _N_Y, _MU = (LANES * row for row in range(9, 18))
_K11, _K12, _K22, _INV11, _INV12, _INV22, _BLOCK = (LANES * row for row in range(18, 25))
_RA_X, _RA_Y, _RB_X, _RB_Y, _N_MASS, _T_MASS, _BIAS, _N_IMPULSE, _T_IMPULSE = (LANES * row for row in range(25, 34))
_POINT = LANES * 9  # distance from one point's rows to the next's
_SLOT_ROWS = 43
_SLOT = LANES * _SLOT_ROWS  # distance from one slot to the next
# The hinges. Lever arms: p on link 0 to hinge 0, q on link 0 to hinge 1, r on link 1 to hinge 1. Matrices a of hinge 0 and b
# of hinge 1: rows 1 and 2 are the point, row 3 the limit; the inverse determinants of the point alone and of all three.
# Accumulated impulses: point, limit, motor; the motors' speeds and the limits' states.
_HINGES = range(_SLOT_ROWS * PAIR_COUNT, _SLOT_ROWS * PAIR_COUNT + 32)
_P_X, _P_Y, _Q_X, _Q_Y, _R_X, _R_Y = (LANES * row for row in _HINGES[:6])
_A11, _A12, _A22, _A13, _A23, _A_DET, _A_DET_3 = (LANES * row for row in _HINGES[6:13])
_B11, _B12, _B22, _B13, _B23, _B_DET, _B_DET_3 = (LANES * row for row in _HINGES[13:20])
_A_X, _A_Y, _A_Z, _A_M, _B_X, _B_Y, _B_Z, _B_M = (LANES * row for row in _HINGES[20:28])
_MOTOR_0, _MOTOR_1, _LIMIT_0, _LIMIT_1 = (LANES * row for row in _HINGES[28:])
LANE_SIZE = LANES * _HINGES.stop

# The plan of a block, a row for each, says what its lanes need: the most points of any lane in each slot, 0 after the last slot,
# whether any hinge is at a limit, and whether any lane holds a world.
AT_LIMIT, IN_USE = PAIR_COUNT + 1, PAIR_COUNT + 2
PLAN_SIZE = PAIR_COUNT + 3

_NEEDS_LANE, _NEEDS_LIMITS = 1 << 2 * PAIR_COUNT, 2 << 2 * PAIR_COUNT

ROUND = 10
"""Iterations between checks of which worlds are done; `VELOCITY_ITERATIONS` is a multiple of it."""
PERIOD = 2
"""Iterations after which a state must recur for its world to be done; `ROUND` is a multiple of it."""

_M0, _I0 = INV_MASS[LINK_0], INV_INERTIA[LINK_0]
_M1, _I1 = INV_MASS[LINK_1], INV_INERTIA[LINK_1]
_MOTOR_MASS_0, _MOTOR_MASS_1 = ONE / _I0, ONE / (_I0 + _I1)
_MAX_MOTOR = DT * MOTOR_TORQUE


# --- In and out of the lanes -------------------------------------------------------------------------------------------------


@compiled
def load_velocities(world, lane, l):
    for body in range(FIRST_MOVING, BODIES):
        row = 3 * LANES * (body - FIRST_MOVING) + l
        lane[row] = world.body[body, VX]
        lane[row + LANES] = world.body[body, VY]
        lane[row + 2 * LANES] = world.body[body, SPIN]


@compiled
def store_velocities(world, lane, l):
    for body in range(FIRST_MOVING, BODIES):
        row = 3 * LANES * (body - FIRST_MOVING) + l
        world.body[body, VX] = lane[row]
        world.body[body, VY] = lane[row + LANES]
        world.body[body, SPIN] = lane[row + 2 * LANES]


@compiled
def load_contact(world, pair, lane, l, slot, ratio):
    """Fill a slot: lever arms, effective masses and restitution of a touching pair, and its impulses of the step before."""
    at = _SLOT * slot + l
    a, b = PAIRS[pair, 0], PAIRS[pair, 1]
    ma, mb, ia, ib = INV_MASS[a], INV_MASS[b], INV_INERTIA[a], INV_INERTIA[b]
    radius_a, radius_b = RADIUS[a], RADIUS[b]
    lane[at + _BODY_A] = f32(a)
    lane[at + _BODY_B] = f32(b)
    lane[at + _M_A] = ma
    lane[at + _I_A] = ia
    lane[at + _M_B] = mb
    lane[at + _I_B] = ib
    lane[at + _MU] = PAIR_FRICTION[pair]
    lane[at + _BLOCK] = ZERO
    for row in range(_RA_X, _SLOT, LANES):
        lane[at + row] = ZERO
    for j in range(world.tally[pair, POINTS]):
        nx, ny, px, py, depth = manifold_at(world, pair, j)
        # The contact point is midway between the two surfaces.
        if world.tally[pair, FLIPPED]:
            ox, oy = px + (radius_b - depth) * nx, py + (radius_b - depth) * ny
            ix, iy = px - radius_a * nx, py - radius_a * ny
            nx, ny = -nx, -ny
        else:
            ox, oy = px + (radius_a - depth) * nx, py + (radius_a - depth) * ny
            ix, iy = px - radius_b * nx, py - radius_b * ny
        cx, cy = HALF * (ox + ix), HALF * (oy + iy)
        rax, ray = cx - world.body[a, X], cy - world.body[a, Y]
        rbx, rby = cx - world.body[b, X], cy - world.body[b, Y]
        lane[at + _N_X] = nx
        lane[at + _N_Y] = ny
        point = at + _POINT * j
        lane[point + _RA_X] = rax
        lane[point + _RA_Y] = ray
        lane[point + _RB_X] = rbx
        lane[point + _RB_Y] = rby
        tx, ty = ny, -nx
        lever_a, lever_b = rax * ny - ray * nx, rbx * ny - rby * nx
        lane[point + _N_MASS] = ONE / (ma + mb + ia * lever_a * lever_a + ib * lever_b * lever_b)
        lever_a, lever_b = rax * ty - ray * tx, rbx * ty - rby * tx
        lane[point + _T_MASS] = ONE / (ma + mb + ia * lever_a * lever_a + ib * lever_b * lever_b)
        vx = world.body[b, VX] + -world.body[b, SPIN] * rby - world.body[a, VX] - -world.body[a, SPIN] * ray
        vy = world.body[b, VY] + world.body[b, SPIN] * rbx - world.body[a, VY] - world.body[a, SPIN] * rax
        approach = nx * vx + ny * vy
        if approach < -VELOCITY_THRESHOLD:
            lane[point + _BIAS] = -PAIR_RESTITUTION[pair] * approach
        lane[point + _N_IMPULSE] = ratio * world.point[pair, j, OLD_NORMAL]
        lane[point + _T_IMPULSE] = ratio * world.point[pair, j, OLD_TANGENT]
    if world.tally[pair, POINTS] == 2:
        _load_block(lane, at, ma, mb, ia, ib)


@compiled
def _load_block(lane, at, ma, mb, ia, ib):
    """Compute the matrix of both points' normals; if they are nearly the same constraint, drop the second point."""
    nx, ny, second = lane[at + _N_X], lane[at + _N_Y], at + _POINT
    a1 = lane[at + _RA_X] * ny - lane[at + _RA_Y] * nx
    b1 = lane[at + _RB_X] * ny - lane[at + _RB_Y] * nx
    a2 = lane[second + _RA_X] * ny - lane[second + _RA_Y] * nx
    b2 = lane[second + _RB_X] * ny - lane[second + _RB_Y] * nx
    k11 = ma + mb + ia * a1 * a1 + ib * b1 * b1
    k22 = ma + mb + ia * a2 * a2 + ib * b2 * b2
    k12 = ma + mb + ia * a1 * a2 + ib * b1 * b2
    if k11 * k11 < f32(1000) * (k11 * k22 - k12 * k12):
        determinant = ONE / (k11 * k22 - k12 * k12)
        lane[at + _K11] = k11
        lane[at + _K12] = k12
        lane[at + _K22] = k22
        lane[at + _INV11] = determinant * k22
        lane[at + _INV12] = -determinant * k12
        lane[at + _INV22] = determinant * k11
        lane[at + _BLOCK] = ONE
    else:
        for row in range(_RA_X, _RA_X + _POINT, LANES):
            lane[second + row] = ZERO


@compiled
def clear_contact(lane, l, slot):
    """Empty a slot: no masses, no bodies, no effect."""
    at = _SLOT * slot + l
    for row in range(_VELOCITIES, _SLOT, LANES):
        lane[at + row] = ZERO


@compiled
def points_to_solve(lane, l, slot):
    return 1 if lane[_SLOT * slot + _BLOCK + l] == ZERO else 2


@compiled
def needs_of(lane, l, contacts, at_limit):
    """Return what a lane needs, as bits that can be joined over lanes: two for each slot, and those named below."""
    needs = _NEEDS_LANE
    if at_limit:
        needs |= _NEEDS_LIMITS
    for slot in range(contacts):
        needs |= points_to_solve(lane, l, slot) << (2 * slot)
    return np.int32(needs)


@compiled
def make_plans(needs, plans):
    """Make the plan of each block from the needs of its lanes."""
    for block in range(BLOCKS):
        joined = np.int32(0)
        for l in range(LANES):
            joined |= needs[block, l]
        plans[block, IN_USE] = joined & _NEEDS_LANE
        plans[block, AT_LIMIT] = joined & _NEEDS_LIMITS
        for slot in range(PAIR_COUNT):
            points = joined >> (2 * slot) & 3
            plans[block, slot] = 2 if points & 2 else points


@compiled
def store_contact(world, pair, lane, l, slot):
    """Store the impulses for the next step's warm start."""
    at = _SLOT * slot + l
    for j in range(2):
        world.point[pair, j, OLD_NORMAL] = lane[at + _POINT * j + _N_IMPULSE]
        world.point[pair, j, OLD_TANGENT] = lane[at + _POINT * j + _T_IMPULSE]


@compiled
def warm_start_contact(lane, l, slot):
    at = _SLOT * slot + l
    for row in range(0, _VELOCITIES, LANES):
        lane[at + row] = lane[row + l]
    nx, ny = lane[at + _N_X], lane[at + _N_Y]
    for j in range(2):
        normal, tangent = lane[at + _POINT * j + _N_IMPULSE], lane[at + _POINT * j + _T_IMPULSE]
        px, py = normal * nx + tangent * ny, normal * ny + tangent * -nx
        va, vb = _velocities_of(lane, at)
        va, vb = _pushed(lane, at, at + _POINT * j, va, vb, px, py)
        _put_velocities(lane, at, va, vb)
    for row in range(0, _VELOCITIES, LANES):
        lane[row + l] = lane[at + row]


@compiled
def load_hinges(world, lane, l, ratio, motor_0, motor_1):
    """Fill the hinges' rows and apply the impulses of the step before."""
    s0, c0, s1, c1 = world.body[LINK_0, SIN], world.body[LINK_0, COS], world.body[LINK_1, SIN], world.body[LINK_1, COS]
    px, py = -s0 * ANCHOR_B[0], c0 * ANCHOR_B[0]
    qx, qy = -s0 * ANCHOR_A[1], c0 * ANCHOR_A[1]
    rx, ry = -s1 * ANCHOR_B[1], c1 * ANCHOR_B[1]
    lane[_P_X + l], lane[_P_Y + l] = px, py
    lane[_Q_X + l], lane[_Q_Y + l] = qx, qy
    lane[_R_X + l], lane[_R_Y + l] = rx, ry
    k11, k12, k22 = _M0 + py * py * _I0, -py * px * _I0, _M0 + px * px * _I0
    k13, k23 = -py * _I0, px * _I0
    lane[_A11 + l], lane[_A12 + l], lane[_A22 + l], lane[_A13 + l], lane[_A23 + l] = k11, k12, k22, k13, k23
    lane[_A_DET + l] = ONE / (k11 * k22 - k12 * k12)
    lane[_A_DET_3 + l] = _inverse_determinant(k11, k12, k22, k13, k23, _I0)
    k11 = _M0 + _M1 + qy * qy * _I0 + ry * ry * _I1
    k12 = -qy * qx * _I0 - ry * rx * _I1
    k22 = _M0 + _M1 + qx * qx * _I0 + rx * rx * _I1
    k13, k23 = -qy * _I0 - ry * _I1, qx * _I0 + rx * _I1
    lane[_B11 + l], lane[_B12 + l], lane[_B22 + l], lane[_B13 + l], lane[_B23 + l] = k11, k12, k22, k13, k23
    lane[_B_DET + l] = ONE / (k11 * k22 - k12 * k12)
    lane[_B_DET_3 + l] = _inverse_determinant(k11, k12, k22, k13, k23, _I0 + _I1)

    lane[_LIMIT_0 + l] = f32(world.counts[LIMIT_STATE])
    lane[_LIMIT_1 + l] = f32(world.counts[LIMIT_STATE_1])
    lane[_MOTOR_0 + l] = motor_0
    lane[_MOTOR_1 + l] = motor_1

    hinge = world.hinge
    ax, ay = hinge[0, HINGE_X] * ratio, hinge[0, HINGE_Y] * ratio
    az, am = hinge[0, HINGE_LIMIT] * ratio, hinge[0, HINGE_MOTOR] * ratio
    bx, by = hinge[1, HINGE_X] * ratio, hinge[1, HINGE_Y] * ratio
    bz, bm = hinge[1, HINGE_LIMIT] * ratio, hinge[1, HINGE_MOTOR] * ratio
    lane[_U_X + l] -= _M0 * bx
    lane[_U_Y + l] -= _M0 * by
    lane[_U_W + l] -= _I0 * ((qx * by - qy * bx) + bm + bz)
    lane[_V_X + l] += _M1 * bx
    lane[_V_Y + l] += _M1 * by
    lane[_V_W + l] += _I1 * ((rx * by - ry * bx) + bm + bz)
    lane[_U_X + l] += _M0 * ax
    lane[_U_Y + l] += _M0 * ay
    lane[_U_W + l] += _I0 * ((px * ay - py * ax) + am + az)
    lane[_A_X + l], lane[_A_Y + l], lane[_A_Z + l], lane[_A_M + l] = ax, ay, az, am
    lane[_B_X + l], lane[_B_Y + l], lane[_B_Z + l], lane[_B_M + l] = bx, by, bz, bm


@compiled
def store_hinges(world, lane, l):
    for hinge in range(2):
        row = (_B_X if hinge else _A_X) + l
        for column in range(4):
            world.hinge[hinge, column] = lane[row + LANES * column]


@compiled
def update_limits(world):
    """Update whether each hinge is at a limit; a limit's impulse is kept only while it lasts."""
    _update_limit(world, 0, world.body[LINK_0, ANGLE])
    _update_limit(world, 1, world.body[LINK_1, ANGLE] - world.body[LINK_0, ANGLE])


@compiled
def _update_limit(world, hinge, angle):
    state = FREE
    if angle <= -LIMIT[hinge]:
        state = AT_LOWER
    elif angle >= LIMIT[hinge]:
        state = AT_UPPER
    if state != world.counts[LIMIT_STATE + hinge] or state == FREE:
        world.hinge[hinge, HINGE_LIMIT] = ZERO
    world.counts[LIMIT_STATE + hinge] = state


@compiled
def _inverse_determinant(k11, k12, k22, k13, k23, k33):
    determinant = k11 * (k22 * k33 - k23 * k23) + k12 * (k23 * k13 - k12 * k33) + k13 * (k12 * k23 - k22 * k13)
    return ONE / determinant if determinant != ZERO else determinant


# --- The iterations ----------------------------------------------------------------------------------------------------------


@compiled
def iterate(lanes, plans, iterations):
    """Do Box2D's velocity iterations on all lanes: hinge 1, hinge 0, then the contacts slot by slot."""
    for _ in range(iterations):
        for block in range(BLOCKS):
            if plans[block, IN_USE]:
                _solve_hinges(lanes[block], plans[block, AT_LIMIT])
        solve_contacts(lanes, plans)


@inlined
def _solve_hinges(lane, at_limit):
    if at_limit:
        for l in range(LANES):
            _solve_hinge_1(lane, l, True)
        for l in range(LANES):
            _solve_hinge_0(lane, l, True)
    else:
        for l in range(LANES):
            _solve_hinge_1(lane, l, False)
            _solve_hinge_0(lane, l, False)


@compiled
def solve_contacts(lanes, plans):
    """Do one pass over the slots that the plans name."""
    for slot in range(PAIR_COUNT):
        last = True
        for block in range(BLOCKS):
            if plans[block, slot]:
                last = False
                _solve_slot(lanes[block], _SLOT * slot, plans[block, slot])
        if last:
            return


@inlined
def _solve_slot(lane, first, points):
    """Solve one contact of each lane of a block."""
    if first > 0:
        for i in range(_VELOCITIES):
            lane[first + i] = lane[i]
    if points == 2:
        for l in range(LANES):
            _solve_contact(lane, first + l, True)
    else:
        for l in range(LANES):
            _solve_contact(lane, first + l, False)
    if first > 0:
        for i in range(_VELOCITIES):
            lane[i] = lane[first + i]


# --- Which worlds are done ---------------------------------------------------------------------------------------------------


# From the first impulse of a contact's first point to the last of its second; what lies between does not change.
_IMPULSE_ROWS = (_POINT + _T_IMPULSE - _N_IMPULSE) // LANES + 1


@compiled
def remember(bits, seen, plans):
    """Save all numbers that the iterations change, as bits: velocities, and impulses of hinges and contacts."""
    for block in range(BLOCKS):
        if plans[block, IN_USE]:
            _remember_rows(bits[block], seen[block], 0, 9)
            _remember_rows(bits[block], seen[block], _A_X, 8)
            for slot in range(PAIR_COUNT):
                if plans[block, slot] == 0:
                    break
                _remember_rows(bits[block], seen[block], _SLOT * slot + _N_IMPULSE, _IMPULSE_ROWS)


@inlined
def _remember_rows(bits, seen, first, rows):
    for i in range(LANES * rows):
        seen[first + i] = bits[first + i]


@compiled
def compare(bits, seen, plans, changed):
    """Find the lanes that have changed since `remember`: those whose `changed` is not 0."""
    for block in range(BLOCKS):
        if plans[block, IN_USE]:
            for l in range(LANES):
                changed[block, l] = 0
            _compare_rows(bits[block], seen[block], changed[block], 0, 9)
            _compare_rows(bits[block], seen[block], changed[block], _A_X, 8)
            for slot in range(PAIR_COUNT):
                if plans[block, slot] == 0:
                    break
                _compare_rows(bits[block], seen[block], changed[block], _SLOT * slot + _N_IMPULSE, _IMPULSE_ROWS)


@inlined
def _compare_rows(bits, seen, changed, first, rows):
    for l in range(LANES):
        difference = changed[l]
        for row in range(rows):
            difference |= bits[first + LANES * row + l] ^ seen[first + LANES * row + l]
        changed[l] = difference


# --- One constraint of one lane ----------------------------------------------------------------------------------------------


@inlined
def _clamp(value, limit):
    """Clamp a value, without `min` and `max`, which are calls and would prevent a vector loop."""
    value = value if value < limit else limit
    return value if value > -limit else -limit


@inlined
def _solve_hinge_1(lane, l, limits):
    ux, uy, uw = lane[_U_X + l], lane[_U_Y + l], lane[_U_W + l]
    vx, vy, vw = lane[_V_X + l], lane[_V_Y + l], lane[_V_W + l]
    qx, qy, rx, ry = lane[_Q_X + l], lane[_Q_Y + l], lane[_R_X + l], lane[_R_Y + l]
    k11, k12, k22, det = lane[_B11 + l], lane[_B12 + l], lane[_B22 + l], lane[_B_DET + l]
    motor = lane[_B_M + l]
    total = _clamp(motor + _MOTOR_MASS_1 * -(vw - uw - lane[_MOTOR_1 + l]), _MAX_MOTOR)
    push = total - motor
    lane[_B_M + l] = total
    uw -= _I0 * push
    vw += _I1 * push
    gx, gy = vx + -vw * ry - ux - -uw * qy, vy + vw * rx - uy - uw * qx
    x, y, z = det * (k22 * -gx - k12 * -gy), det * (k11 * -gy - k12 * -gx), ZERO
    if limits:
        k13, k23, det_3 = lane[_B13 + l], lane[_B23 + l], lane[_B_DET_3 + l]
        state, old = lane[_LIMIT_1 + l], lane[_B_Z + l]
        x, y, z = _limited(k11, k12, k22, k13, k23, _I0 + _I1, det, det_3, gx, gy, vw - uw, old, state, x, y)
        lane[_B_Z + l] = old + z
    lane[_B_X + l] += x
    lane[_B_Y + l] += y
    lane[_U_X + l] = ux - _M0 * x
    lane[_U_Y + l] = uy - _M0 * y
    lane[_U_W + l] = uw - _I0 * ((qx * y - qy * x) + z)
    lane[_V_X + l] = vx + _M1 * x
    lane[_V_Y + l] = vy + _M1 * y
    lane[_V_W + l] = vw + _I1 * ((rx * y - ry * x) + z)


@inlined
def _solve_hinge_0(lane, l, limits):
    """Solve hinge 0 like hinge 1; its other body is the wall, which does not move."""
    ux, uy, uw = lane[_U_X + l], lane[_U_Y + l], lane[_U_W + l]
    px, py = lane[_P_X + l], lane[_P_Y + l]
    k11, k12, k22, det = lane[_A11 + l], lane[_A12 + l], lane[_A22 + l], lane[_A_DET + l]
    motor = lane[_A_M + l]
    total = _clamp(motor + _MOTOR_MASS_0 * -(uw - lane[_MOTOR_0 + l]), _MAX_MOTOR)
    push = total - motor
    lane[_A_M + l] = total
    uw += _I0 * push
    gx, gy = ux + -uw * py, uy + uw * px
    x, y, z = det * (k22 * -gx - k12 * -gy), det * (k11 * -gy - k12 * -gx), ZERO
    if limits:
        k13, k23, det_3 = lane[_A13 + l], lane[_A23 + l], lane[_A_DET_3 + l]
        state, old = lane[_LIMIT_0 + l], lane[_A_Z + l]
        x, y, z = _limited(k11, k12, k22, k13, k23, _I0, det, det_3, gx, gy, uw, old, state, x, y)
        lane[_A_Z + l] = old + z
    lane[_A_X + l] += x
    lane[_A_Y + l] += y
    lane[_U_X + l] = ux + _M0 * x
    lane[_U_Y + l] = uy + _M0 * y
    lane[_U_W + l] = uw + _I0 * ((px * y - py * x) + z)


@inlined
def _limited(k11, k12, k22, k13, k23, k33, det, det_3, gx, gy, gw, old, state, free_x, free_y):
    """Solve point and limit together by Cramer's rule; if the limit would pull, solve the point without the limit's impulse."""
    x = -(det_3 * (gx * (k22 * k33 - k23 * k23) + gy * (k23 * k13 - k12 * k33) + gw * (k12 * k23 - k22 * k13)))
    y = -(det_3 * (k11 * (gy * k33 - gw * k23) + k12 * (gw * k13 - gx * k33) + k13 * (gx * k23 - gy * k13)))
    z = -(det_3 * (k11 * (k22 * gw - k23 * gy) + k12 * (k23 * gx - k12 * gw) + k13 * (k12 * gy - k22 * gx)))
    bx, by = -gx + old * k13, -gy + old * k23
    alone_x, alone_y = det * (k22 * bx - k12 * by), det * (k11 * by - k12 * bx)
    # An impulse of +1 pushes off the lower limit, of -1 off the upper one.
    away = old + z if state == f32(AT_LOWER) else -(old + z)
    pulls = away < ZERO
    x = alone_x if pulls else x
    y = alone_y if pulls else y
    z = -old if pulls else z
    free = state == f32(FREE)
    return free_x if free else x, free_y if free else y, ZERO if free else z


@inlined
def _velocities_of(lane, at):
    """Return the velocities of a slot's two bodies; those of a wall and of an empty slot do not matter or are 0."""
    a, b = lane[at + _BODY_A], lane[at + _BODY_B]
    on_0, on_1, ball = a == f32(LINK_0), a == f32(LINK_1), b == f32(BALL)
    # All are read before the choice, which makes it a choice between values.
    ux, uy, uw = lane[at + _U_X], lane[at + _U_Y], lane[at + _U_W]
    vx, vy, vw = lane[at + _V_X], lane[at + _V_Y], lane[at + _V_W]
    bx, by, bw = lane[at + _BALL_X], lane[at + _BALL_Y], lane[at + _BALL_W]
    ax = ux if on_0 else (vx if on_1 else ZERO)
    ay = uy if on_0 else (vy if on_1 else ZERO)
    aw = uw if on_0 else (vw if on_1 else ZERO)
    return (ax, ay, aw), (bx if ball else vx, by if ball else vy, bw if ball else vw)


@inlined
def _put_velocities(lane, at, va, vb):
    a, b = lane[at + _BODY_A], lane[at + _BODY_B]
    on_0, on_1, ball, hit_1 = a == f32(LINK_0), a == f32(LINK_1), b == f32(BALL), b == f32(LINK_1)
    ux, uy, uw = lane[at + _U_X], lane[at + _U_Y], lane[at + _U_W]
    vx, vy, vw = lane[at + _V_X], lane[at + _V_Y], lane[at + _V_W]
    bx, by, bw = lane[at + _BALL_X], lane[at + _BALL_Y], lane[at + _BALL_W]
    lane[at + _U_X] = va[0] if on_0 else ux
    lane[at + _U_Y] = va[1] if on_0 else uy
    lane[at + _U_W] = va[2] if on_0 else uw
    lane[at + _V_X] = va[0] if on_1 else (vb[0] if hit_1 else vx)
    lane[at + _V_Y] = va[1] if on_1 else (vb[1] if hit_1 else vy)
    lane[at + _V_W] = va[2] if on_1 else (vb[2] if hit_1 else vw)
    lane[at + _BALL_X] = vb[0] if ball else bx
    lane[at + _BALL_Y] = vb[1] if ball else by
    lane[at + _BALL_W] = vb[2] if ball else bw


@inlined
def _pushed(lane, at, point, va, vb, px, py):
    """Return both bodies' velocities after an impulse at a contact point."""
    ma, ia, mb, ib = lane[at + _M_A], lane[at + _I_A], lane[at + _M_B], lane[at + _I_B]
    turn_a = lane[point + _RA_X] * py - lane[point + _RA_Y] * px
    turn_b = lane[point + _RB_X] * py - lane[point + _RB_Y] * px
    return (
        (va[0] - ma * px, va[1] - ma * py, va[2] - ia * turn_a),
        (vb[0] + mb * px, vb[1] + mb * py, vb[2] + ib * turn_b),
    )


@inlined
def _closing(lane, point, va, vb):
    """Return how fast the second body moves away from the first at a contact point."""
    return (
        vb[0] + -vb[2] * lane[point + _RB_Y] - va[0] - -va[2] * lane[point + _RA_Y],
        vb[1] + vb[2] * lane[point + _RB_X] - va[1] - va[2] * lane[point + _RA_X],
    )


@inlined
def _rub(lane, at, point, va, vb):
    """Apply friction at one point, bounded by the normal impulse so far."""
    tx, ty = lane[at + _N_Y], -lane[at + _N_X]
    dx, dy = _closing(lane, point, va, vb)
    old = lane[point + _T_IMPULSE]
    limit = lane[at + _MU] * lane[point + _N_IMPULSE]
    total = _clamp(old + lane[point + _T_MASS] * -(dx * tx + dy * ty), limit)
    push = total - old
    lane[point + _T_IMPULSE] = total
    return _pushed(lane, at, point, va, vb, push * tx, push * ty)


@inlined
def _solve_contact(lane, at, two_points):
    """Solve one contact of one lane: friction first, then the normal impulse, for two points together."""
    second = at + _POINT
    nx, ny = lane[at + _N_X], lane[at + _N_Y]
    va, vb = _velocities_of(lane, at)
    va, vb = _rub(lane, at, at, va, vb)
    if two_points:
        va, vb = _rub(lane, at, second, va, vb)
    dx, dy = _closing(lane, at, va, vb)
    away_1 = (dx * nx + dy * ny) - lane[at + _BIAS]
    old_1 = lane[at + _N_IMPULSE]
    new_1 = old_1 + -lane[at + _N_MASS] * away_1
    new_1 = new_1 if new_1 > ZERO else ZERO
    if two_points:
        dx, dy = _closing(lane, second, va, vb)
        away_2 = (dx * nx + dy * ny) - lane[second + _BIAS]
        old_2 = lane[second + _N_IMPULSE]
        both_1, both_2 = _solve_block(lane, at, away_1, away_2, old_1, old_2)
        block = lane[at + _BLOCK] != ZERO
        new_1 = both_1 if block else new_1
        new_2 = both_2 if block else old_2
        lane[at + _N_IMPULSE] = new_1
        lane[second + _N_IMPULSE] = new_2
        p1x, p1y, p2x, p2y = (new_1 - old_1) * nx, (new_1 - old_1) * ny, (new_2 - old_2) * nx, (new_2 - old_2) * ny
        ma, ia, mb, ib = lane[at + _M_A], lane[at + _I_A], lane[at + _M_B], lane[at + _I_B]
        turn_a = (lane[at + _RA_X] * p1y - lane[at + _RA_Y] * p1x) + (lane[second + _RA_X] * p2y - lane[second + _RA_Y] * p2x)
        turn_b = (lane[at + _RB_X] * p1y - lane[at + _RB_Y] * p1x) + (lane[second + _RB_X] * p2y - lane[second + _RB_Y] * p2x)
        va = (va[0] - ma * (p1x + p2x), va[1] - ma * (p1y + p2y), va[2] - ia * turn_a)
        vb = (vb[0] + mb * (p1x + p2x), vb[1] + mb * (p1y + p2y), vb[2] + ib * turn_b)
    else:
        push = new_1 - old_1
        lane[at + _N_IMPULSE] = new_1
        va, vb = _pushed(lane, at, at, va, vb, push * nx, push * ny)
    _put_velocities(lane, at, va, vb)


@inlined
def _solve_block(lane, at, away_1, away_2, old_1, old_2):
    """Solve the normal impulses of two points at once: a complementarity problem, by its four cases in order."""
    k11, k12, k22 = lane[at + _K11], lane[at + _K12], lane[at + _K22]
    inv11, inv12, inv22 = lane[at + _INV11], lane[at + _INV12], lane[at + _INV22]
    b1 = away_1 - (k11 * old_1 + k12 * old_2)
    b2 = away_2 - (k12 * old_1 + k22 * old_2)
    both_1, both_2 = -(inv11 * b1 + inv12 * b2), -(inv12 * b1 + inv22 * b2)
    only_1, only_2 = -lane[at + _N_MASS] * b1, -lane[at + _POINT + _N_MASS] * b2
    both = both_1 >= ZERO and both_2 >= ZERO
    first = only_1 >= ZERO and k12 * only_1 + b2 >= ZERO
    second = only_2 >= ZERO and k12 * only_2 + b1 >= ZERO
    none = b1 >= ZERO and b2 >= ZERO
    # If no case fits, the impulses stay.
    new_1 = both_1 if both else (only_1 if first else (ZERO if second or none else old_1))
    new_2 = both_2 if both else (ZERO if first else (only_2 if second else (ZERO if none else old_2)))
    return new_1, new_2

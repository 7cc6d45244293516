"""Integration of velocities, and correction of bodies that overlap or hinges that have come apart."""

from __future__ import annotations

import math

from .contacts import manifold_at
from .scene import (
    ANCHOR_A,
    ANCHOR_B,
    ANGLE,
    ANGULAR_SLOP,
    AT_LOWER,
    BAUMGARTE,
    COS,
    FLIPPED,
    FREE,
    HINGE_A,
    HINGE_B,
    INV_INERTIA,
    INV_MASS,
    LIMIT,
    LIMIT_STATE,
    LINEAR_SLOP,
    MAX_ANGULAR_CORRECTION,
    MAX_LINEAR_CORRECTION,
    MAX_ROTATION,
    MAX_TRANSLATION,
    ONE,
    ORDER,
    PAIRS,
    POINTS,
    POSITION_ITERATIONS,
    RADIUS,
    SIN,
    SPIN,
    THREE,
    VX,
    VY,
    ZERO,
    X,
    Y,
    compiled,
    face,
)


@compiled
def advance(world, body, dt):
    """Move a body by its velocity, which is limited to Box2D's largest step."""
    vx, vy, w = world.body[body, VX], world.body[body, VY], world.body[body, SPIN]
    dx, dy = dt * vx, dt * vy
    square = dx * dx + dy * dy
    if square > MAX_TRANSLATION * MAX_TRANSLATION:
        limit = MAX_TRANSLATION / math.sqrt(square)
        vx *= limit
        vy *= limit
    turn = dt * w
    if turn * turn > MAX_ROTATION * MAX_ROTATION:
        w *= MAX_ROTATION / abs(turn)
    world.body[body, VX] = vx
    world.body[body, VY] = vy
    world.body[body, SPIN] = w
    world.body[body, X] += dt * vx
    world.body[body, Y] += dt * vy
    world.body[body, ANGLE] += dt * w
    face(world, body)


@compiled
def correct_contact(world, pair, point, share, move_a, move_b):
    """Push the bodies of a contact apart by a share of its overlap; return the separation before."""
    a, b = PAIRS[pair, 0], PAIRS[pair, 1]
    nx, ny, px, py, depth = manifold_at(world, pair, point)
    if world.tally[pair, FLIPPED]:
        nx, ny = -nx, -ny
        separation = depth - RADIUS[b] - RADIUS[a]
    else:
        separation = depth - RADIUS[a] - RADIUS[b]
    rax, ray = px - world.body[a, X], py - world.body[a, Y]
    rbx, rby = px - world.body[b, X], py - world.body[b, Y]
    correction = max(-MAX_LINEAR_CORRECTION, min(share * (separation + LINEAR_SLOP), ZERO))
    ma, ia = (INV_MASS[a], INV_INERTIA[a]) if move_a else (ZERO, ZERO)
    mb, ib = (INV_MASS[b], INV_INERTIA[b]) if move_b else (ZERO, ZERO)
    lever_a, lever_b = rax * ny - ray * nx, rbx * ny - rby * nx
    k = ma + mb + ia * lever_a * lever_a + ib * lever_b * lever_b
    push = -correction / k if k > ZERO else ZERO
    x, y = push * nx, push * ny
    if ma > ZERO:
        world.body[a, X] -= ma * x
        world.body[a, Y] -= ma * y
        world.body[a, ANGLE] -= ia * (rax * y - ray * x)
        face(world, a)
    if mb > ZERO:
        world.body[b, X] += mb * x
        world.body[b, Y] += mb * y
        world.body[b, ANGLE] += ib * (rbx * y - rby * x)
        face(world, b)
    return separation


@compiled
def _solve_contact_positions(world, first, last):
    least = ZERO
    for k in range(first, last):
        pair = world.tally[k, ORDER]
        for j in range(world.tally[pair, POINTS]):
            least = min(least, correct_contact(world, pair, j, BAUMGARTE, True, True))
    return least >= -THREE * LINEAR_SLOP


@compiled
def _solve_hinge_position(world, hinge):
    """Bring a hinge's two anchors together and its angle within the limits; return whether it was near enough."""
    a, b = HINGE_A[hinge], HINGE_B[hinge]
    ma, mb, ia, ib = INV_MASS[a], INV_MASS[b], INV_INERTIA[a], INV_INERTIA[b]
    angular_error = ZERO
    state = world.counts[LIMIT_STATE + hinge]
    if state != FREE:
        angle = world.body[b, ANGLE] - world.body[a, ANGLE]
        if state == AT_LOWER:
            c = angle - -LIMIT[hinge]
            angular_error = -c
            c = max(-MAX_ANGULAR_CORRECTION, min(c + ANGULAR_SLOP, ZERO))
        else:
            c = angle - LIMIT[hinge]
            angular_error = c
            c = max(ZERO, min(c - ANGULAR_SLOP, MAX_ANGULAR_CORRECTION))
        push = -(ONE / (ia + ib)) * c
        world.body[a, ANGLE] -= ia * push
        world.body[b, ANGLE] += ib * push
        if ma > ZERO:
            face(world, a)
        face(world, b)
    ax, ay = -world.body[a, SIN] * ANCHOR_A[hinge], world.body[a, COS] * ANCHOR_A[hinge]
    bx, by = -world.body[b, SIN] * ANCHOR_B[hinge], world.body[b, COS] * ANCHOR_B[hinge]
    cx, cy = world.body[b, X] + bx - world.body[a, X] - ax, world.body[b, Y] + by - world.body[a, Y] - ay
    error = math.sqrt(cx * cx + cy * cy)
    k11 = ma + mb + ia * ay * ay + ib * by * by
    k12 = -ia * ax * ay - ib * bx * by
    k22 = ma + mb + ia * ax * ax + ib * bx * bx
    determinant = k11 * k22 - k12 * k12
    if determinant != ZERO:
        determinant = ONE / determinant
    x, y = -(determinant * (k22 * cx - k12 * cy)), -(determinant * (k11 * cy - k12 * cx))
    if ma > ZERO:
        world.body[a, X] -= ma * x
        world.body[a, Y] -= ma * y
        world.body[a, ANGLE] -= ia * (ax * y - ay * x)
        face(world, a)
    world.body[b, X] += mb * x
    world.body[b, Y] += mb * y
    world.body[b, ANGLE] += ib * (bx * y - by * x)
    face(world, b)
    return error <= LINEAR_SLOP and angular_error <= ANGULAR_SLOP


@compiled
def solve_positions(world, with_arm, first, last):
    """Correct one island: the contacts `first` to `last` in order and, if it is the arm's, the hinges."""
    for _ in range(POSITION_ITERATIONS):
        solved = True
        if first < last:
            solved = _solve_contact_positions(world, first, last)
        if with_arm:
            solved = _solve_hinge_position(world, 1) and solved
            solved = _solve_hinge_position(world, 0) and solved
        if solved:
            return

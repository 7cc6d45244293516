"""One step of several worlds."""

from __future__ import annotations

import numpy as np

from .contacts import find_new_contacts, gather_islands, move_fat_box, update_contacts
from .impacts import solve_impacts
from .positions import advance, solve_positions
from .scene import (
    ALL_CONTACTS,
    ARM_CONTACTS,
    BALL,
    BALL_ANGULAR_DAMPING,
    BALL_LINEAR_DAMPING,
    BODIES,
    DT,
    DT_RATIO,
    FIRST,
    FIRST_MOVING,
    FREE,
    LIMIT_STATE,
    LIMIT_STATE_1,
    ONE,
    ORDER,
    PAIR_COUNT,
    SPIN,
    VX,
    VY,
    ZERO,
    compiled,
    f32,
    start_sweep,
    world_at,
)
from .velocities import (
    AT_LIMIT,
    LANE_SIZE,
    LANES,
    PLAN_SIZE,
    clear_contact,
    iterate,
    load_contact,
    load_hinges,
    load_velocities,
    points_to_solve,
    store_contact,
    store_hinges,
    store_velocities,
    update_limits,
    warm_start_contact,
)

_BALL_SLOWS = ONE - DT * BALL_LINEAR_DAMPING
_BALL_SPIN_SLOWS = ONE - DT * BALL_ANGULAR_DAMPING


def new_lanes(pool: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Working memory for `step` on a pool of worlds.

    The solver's lanes, another set for sub-steps, a plan; an order of the worlds, and how much work each is.
    """
    lane, spare = np.zeros(LANE_SIZE, f32), np.zeros(LANE_SIZE, f32)
    return lane, spare, np.zeros(PLAN_SIZE, np.int64), np.zeros(pool, np.int64), np.zeros(pool, np.int64)


@compiled
def step(worlds, lanes, motors, active):
    """One step of 1/60 s of the first `active` worlds of a pool, their hinges driven at the speeds `motors` (pool, 2).

    Worlds with as many contacts go through the solver together: a lane with fewer would wait for the others.
    """
    lane, spare, plan, order, work = lanes
    most = 0
    for index in range(active):
        _find_contacts(world_at(worlds, index))
        work[index] = 2 * worlds.counts[index, ALL_CONTACTS] + _at_limit(worlds, index)
        most = max(most, work[index])
    placed = 0
    for amount in range(most + 1):
        for index in range(active):
            if work[index] == amount:
                order[placed] = index
                placed += 1
    for first in range(0, active, LANES):
        _solve(worlds, order[first : min(first + LANES, active)], lane, spare, plan, motors)


@compiled
def _at_limit(worlds, index):
    return worlds.counts[index, LIMIT_STATE] != FREE or worlds.counts[index, LIMIT_STATE_1] != FREE


@compiled
def _solve(worlds, group, lane, spare, plan, motors):
    """Velocities and positions of a group of worlds, one a lane."""
    plan[:] = 0
    for l, index in enumerate(group):
        _load(world_at(worlds, index), lane, l, motors[index, 0], motors[index, 1])
        plan[AT_LIMIT] |= _at_limit(worlds, index)
        for slot in range(worlds.counts[index, ALL_CONTACTS]):
            plan[slot] = max(plan[slot], points_to_solve(lane, l, slot))
    for l, index in enumerate(group):
        for slot in range(worlds.counts[index, ALL_CONTACTS], PAIR_COUNT):
            if plan[slot]:
                clear_contact(lane, l, slot)
    iterate(lane, plan)
    for l, index in enumerate(group):
        _end(world_at(worlds, index), lane, l, spare, plan)


@compiled
def _find_contacts(world):
    """Broad and narrow phase, islands, and whether hinges are at their limits."""
    if world.counts[FIRST]:
        find_new_contacts(world)
    update_contacts(world)
    gather_islands(world)
    update_limits(world)


@compiled
def _load(world, lane, l, motor_0, motor_1):
    """Sets up the velocity iterations of one world."""
    for body in range(FIRST_MOVING, BODIES):
        start_sweep(world, body)
    world.body[BALL, VX] *= _BALL_SLOWS
    world.body[BALL, VY] *= _BALL_SLOWS
    world.body[BALL, SPIN] *= _BALL_SPIN_SLOWS
    load_velocities(world, lane, l)
    ratio = ZERO if world.counts[FIRST] else DT_RATIO
    contacts = world.counts[ALL_CONTACTS]
    for slot in range(contacts):
        load_contact(world, world.tally[slot, ORDER], lane, l, slot, ratio)
    for slot in range(contacts):
        warm_start_contact(lane, l, slot)
    load_hinges(world, lane, l, ratio, motor_0, motor_1)


@compiled
def _end(world, lane, l, spare, plan):
    """Moves the bodies by the velocities found, corrects positions and looks for impacts missed."""
    store_velocities(world, lane, l)
    store_hinges(world, lane, l)
    arm_contacts, contacts = world.counts[ARM_CONTACTS], world.counts[ALL_CONTACTS]
    for slot in range(contacts):
        store_contact(world, world.tally[slot, ORDER], lane, l, slot)
    for body in range(FIRST_MOVING, BODIES):
        advance(world, body, DT)
    solve_positions(world, True, 0, arm_contacts)
    solve_positions(world, False, arm_contacts, contacts)
    for body in range(FIRST_MOVING, BODIES):
        move_fat_box(world, body)
    find_new_contacts(world)
    solve_impacts(world, spare, plan)
    world.counts[FIRST] = 0

"""One step of several worlds.

The worlds of a pool are sorted by how many contacts they have, so that few lanes of a block wait for others. After every
`ROUND` iterations, the worlds whose numbers are, bit for bit, those of `PERIOD` iterations before leave their lanes to the next
worlds of the pool (see `velocities`). An arm that rests often repeats itself in this way, and one that swings freely hardly
ever does. Each lane does exactly what it would do alone, so the grouping changes no bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .contacts import find_new_contacts, gather_islands, move_fat_box, update_contacts
from .impacts import solve_impacts
from .positions import advance, solve_positions
from .scene import (
    ALL_CONTACTS,
    ALL_ITERATIONS,
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
    SPIN,
    VELOCITY_ITERATIONS,
    VX,
    VY,
    ZERO,
    compiled,
    f32,
    start_sweep,
    world_at,
)
from .velocities import (
    BLOCKS,
    LANE_SIZE,
    LANES,
    PERIOD,
    PLAN_SIZE,
    ROUND,
    clear_contact,
    compare,
    iterate,
    load_contact,
    load_hinges,
    load_velocities,
    make_plans,
    needs_of,
    remember,
    store_contact,
    store_hinges,
    store_velocities,
    update_limits,
    warm_start_contact,
)

_BALL_SLOWS = ONE - DT * BALL_LINEAR_DAMPING
_BALL_SPIN_SLOWS = ONE - DT * BALL_ANGULAR_DAMPING
_CACHE_LINE = 64


class Solver(NamedTuple):
    """Working memory for `step` on a pool of worlds."""

    lanes: np.ndarray  # (BLOCKS, LANE_SIZE) float32, the solver's numbers
    bits: np.ndarray  # the same memory as int32
    seen: np.ndarray  # (BLOCKS, LANE_SIZE) int32, some of them a few iterations ago
    changed: np.ndarray  # (BLOCKS, LANES) int32, which lanes have changed since
    plans: np.ndarray  # (BLOCKS, PLAN_SIZE) int64
    needs: np.ndarray  # (BLOCKS, LANES) int32, what the world in a lane needs, 0 if there is none
    world: np.ndarray  # (BLOCKS, LANES) int64, which world it is
    left: np.ndarray  # (BLOCKS, LANES) int32, how many iterations it has left
    filled: np.ndarray  # (BLOCKS, LANES) int64, how many of its slots are not empty
    order: np.ndarray  # (pool,) int64, the worlds with the most work first
    work: np.ndarray  # (pool,) int64, how much work each is
    spare: np.ndarray  # (BLOCKS, LANE_SIZE) float32, lanes for sub-steps
    spare_plans: np.ndarray  # (BLOCKS, PLAN_SIZE) int64


def _aligned_zeros(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Return zeros aligned to a cache line; a vector that lies in two lines takes longer to read."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + _CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def new_solver(pool: int) -> Solver:
    lanes = _aligned_zeros((BLOCKS, LANE_SIZE), f32)
    return Solver(
        lanes,
        lanes.view(np.int32),
        _aligned_zeros((BLOCKS, LANE_SIZE), np.int32),
        _aligned_zeros((BLOCKS, LANES), np.int32),
        np.zeros((BLOCKS, PLAN_SIZE), np.int64),
        _aligned_zeros((BLOCKS, LANES), np.int32),
        np.zeros((BLOCKS, LANES), np.int64),
        _aligned_zeros((BLOCKS, LANES), np.int32),
        np.zeros((BLOCKS, LANES), np.int64),
        np.zeros(pool, np.int64),
        np.zeros(pool, np.int64),
        _aligned_zeros((BLOCKS, LANE_SIZE), f32),
        np.zeros((BLOCKS, PLAN_SIZE), np.int64),
    )


@compiled
def step(worlds, solver, motors, active):
    """Do one step of 1/60 s of the first `active` worlds of a pool, their hinges driven at the speeds `motors` (pool, 2)."""
    _order_by_work(worlds, solver, active)
    _solve_velocities(worlds, solver, motors, active)
    for index in range(active):
        _end(world_at(worlds, index), solver.spare, solver.spare_plans)


@compiled
def _order_by_work(worlds, solver, active):
    """Find the contacts, and order the worlds, those with the most work first.

    In a block, a lane with fewer contacts waits for the others, so worlds with equal numbers of contacts are put next to each other.
    Those that took all iterations in the step before go first among them, since they are likely to do so again.
    """
    most = 0
    for index in range(active):
        world = world_at(worlds, index)
        _find_contacts(world)
        solver.work[index] = 4 * world.counts[ALL_CONTACTS] + 2 * _at_limit(world) + world.counts[ALL_ITERATIONS]
        most = max(most, solver.work[index])
    placed = 0
    for amount in range(most, -1, -1):
        for index in range(active):
            if solver.work[index] == amount:
                solver.order[placed] = index
                placed += 1


@compiled
def _at_limit(world):
    return world.counts[LIMIT_STATE] != FREE or world.counts[LIMIT_STATE_1] != FREE


@compiled
def _solve_velocities(worlds, solver, motors, active):
    """Do the velocity iterations of all worlds: as soon as one is done, the next takes its lane."""
    waiting = 0
    for block in range(BLOCKS):
        for l in range(LANES):
            waiting = _load_next(worlds, solver, block, l, motors, waiting, active)
    solved = 0
    while solved < active:
        make_plans(solver.needs, solver.plans)
        done = False
        while not done:
            iterate(solver.lanes, solver.plans, ROUND - PERIOD)
            remember(solver.bits, solver.seen, solver.plans)
            iterate(solver.lanes, solver.plans, PERIOD)
            compare(solver.bits, solver.seen, solver.plans, solver.changed)
            done = _any_done(solver)
        for block in range(BLOCKS):
            for l in range(LANES):
                if solver.needs[block, l] and (solver.changed[block, l] == 0 or solver.left[block, l] == 0):
                    _store(world_at(worlds, solver.world[block, l]), solver, block, l)
                    solved += 1
                    waiting = _load_next(worlds, solver, block, l, motors, waiting, active)


@compiled
def _load_next(worlds, solver, block, l, motors, waiting, active):
    """Put the next waiting world into a lane, or none if none waits; return the one that waits then."""
    if waiting == active:
        solver.needs[block, l] = 0
        return waiting
    index = solver.order[waiting]
    _load(world_at(worlds, index), solver, block, l, motors[index, 0], motors[index, 1])
    solver.world[block, l] = index
    solver.left[block, l] = VELOCITY_ITERATIONS
    return waiting + 1


@compiled
def _any_done(solver):
    """Return whether the iterations of any lane are over, empty lanes included."""
    done = False
    for block in range(BLOCKS):
        for l in range(LANES):
            solver.left[block, l] -= np.int32(ROUND)
            done |= (solver.changed[block, l] == 0) | (solver.left[block, l] == 0)
    return done


@compiled
def _find_contacts(world):
    """Do broad and narrow phase, find islands, and update the limits of hinges."""
    if world.counts[FIRST]:
        find_new_contacts(world)
    update_contacts(world)
    gather_islands(world)
    update_limits(world)


@compiled
def _load(world, solver, block, l, motor_0, motor_1):
    """Set up the velocity iterations of one world."""
    lane = solver.lanes[block]
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
    for slot in range(contacts, solver.filled[block, l]):
        clear_contact(lane, l, slot)
    solver.filled[block, l] = contacts
    solver.needs[block, l] = needs_of(lane, l, contacts, _at_limit(world))
    load_hinges(world, lane, l, ratio, motor_0, motor_1)


@compiled
def _store(world, solver, block, l):
    """Store the velocities and the impulses of the iterations."""
    lane = solver.lanes[block]
    world.counts[ALL_ITERATIONS] = solver.changed[block, l] != 0
    store_velocities(world, lane, l)
    store_hinges(world, lane, l)
    for slot in range(world.counts[ALL_CONTACTS]):
        store_contact(world, world.tally[slot, ORDER], lane, l, slot)


@compiled
def _end(world, spare, spare_plans):
    """Move the bodies by their velocities, correct positions and handle impacts that were missed."""
    arm_contacts, contacts = world.counts[ARM_CONTACTS], world.counts[ALL_CONTACTS]
    for body in range(FIRST_MOVING, BODIES):
        advance(world, body, DT)
    solve_positions(world, True, 0, arm_contacts)
    solve_positions(world, False, arm_contacts, contacts)
    for body in range(FIRST_MOVING, BODIES):
        move_fat_box(world, body)
    find_new_contacts(world)
    solve_impacts(world, spare, spare_plans)
    world.counts[FIRST] = 0

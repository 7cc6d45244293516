"""Curling's solver: subnormal numbers are flushed to zero, and iterations end early only where the rest would change nothing."""

from __future__ import annotations

import os
import platform

import numpy as np
import pytest
from numba import njit

import stax
from rollout_samples import recorded
from stax.compiling import _pool
from stax.tasks.curling import HORIZON, STATE_SIZE, Tables
from stax.tasks.curling_physics.scene import VELOCITY_ITERATIONS
from stax.tasks.curling_physics.stepping import new_solver
from stax.tasks.curling_physics.subnormals import FLUSH, float_control, set_float_control
from stax.tasks.curling_physics.velocities import AT_LIMIT, BLOCKS, IN_USE, LANES, PERIOD, ROUND, compare, iterate, remember

X86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="subnormals are flushed on x86-64 alone")

# The bits of MXCSR that say which exceptions have happened; arithmetic sets them all the time.
HAPPENED = 0x3F


@njit
def control_now():
    return float_control()


@njit
def set_control(value):
    set_float_control(np.uint32(value))


@njit
def halve(values):
    for i in range(values.size):
        values[i] *= np.float32(0.5)


def subnormals(array):
    size = np.abs(array)
    return int(((size > 0) & (size < np.finfo(np.float32).tiny)).sum())


def run_tables(genomes):
    tables = Tables(len(genomes))
    final = np.empty((len(genomes), STATE_SIZE))
    # As tasks give them: the kernel is compiled again for other types.
    tables.run(genomes.astype(np.float64), 0, HORIZON, final=final)
    return tables, final


@X86
def test_the_switch_flushes_results_and_operands():
    smallest = np.finfo(np.float32).tiny
    before = control_now()
    values = np.array([smallest, smallest / 2], np.float32)
    halve(values)
    assert subnormals(values) == 2
    set_control(before | FLUSH)
    try:
        values = np.array([smallest], np.float32)
        halve(values)
    finally:
        set_control(before)
    assert values[0] == 0
    assert control_now() & ~HAPPENED == before & ~HAPPENED


@X86
def test_no_subnormals_are_left_in_a_simulation():
    """An arm that rests against a limit has speeds that would decay through the subnormal numbers."""
    genomes = recorded("curling")["genome"].astype(np.float64)
    tables, final = run_tables(genomes)
    assert subnormals(final) == 0
    for part in (tables._worlds, tables._solver):
        for array in part:
            if array.dtype == np.float32:
                assert subnormals(array) == 0


@X86
@pytest.mark.parametrize("threads", [1, 2])
def test_the_threads_of_a_process_are_left_as_they_were(threads):
    task = stax.make_task("curling", threads=threads)
    pool = _pool(os.getpid(), 2)
    for bits in (0, FLUSH):
        before = control_now() & ~HAPPENED
        set_control(before | bits)
        try:
            task.evaluate(recorded("curling")["genome"][:8])
            task.trajectory(recorded("curling")["genome"][0])
            assert control_now() & ~HAPPENED == before | bits
        finally:
            set_control(before)
    for control in pool.map(lambda _: control_now(), range(8)):
        assert control & FLUSH == 0


@pytest.mark.parametrize("value", [1e-310, -5e-324])
def test_genomes_of_subnormal_numbers_do_nothing(value):
    task = stax.make_task("curling")
    rest = task.evaluate(np.zeros((1, task.genome_size)))
    tiny = task.evaluate(np.full((1, task.genome_size), value))
    np.testing.assert_array_equal(tiny.snapshots, rest.snapshots)


@njit
def iterate_rounds(solver, rounds):
    # With a single call of iterate, which takes long to compile.
    for part in range(2 * rounds):
        is_end = part % 2 == 1
        if is_end:
            remember(solver.bits, solver.seen, solver.plans)
        iterate(solver.lanes, solver.plans, PERIOD if is_end else ROUND - PERIOD)
        if is_end:
            compare(solver.bits, solver.seen, solver.plans, solver.changed)


def test_iterations_that_are_left_out_would_change_nothing():
    """Lanes as real steps leave them, with other velocities: those found to be done stay the same in all iterations left."""
    assert VELOCITY_ITERATIONS % ROUND == ROUND % PERIOD == 0
    rng = np.random.default_rng(2)
    genomes = recorded("curling")["genome"].astype(np.float64)
    stopped = went_on = 0
    for last in range(40, HORIZON, 60):
        tables = Tables(len(genomes))
        tables.run(genomes, 0, last, final=np.empty((len(genomes), STATE_SIZE)))
        solver = new_solver(1)
        solver.lanes[:] = tables._solver.lanes
        solver.lanes[:, : 9 * LANES] += rng.normal(scale=0.1, size=(BLOCKS, 9 * LANES))
        for block in range(BLOCKS):
            solver.plans[block, : tables._solver.filled[block].max()] = 2
        solver.plans[:, AT_LIMIT] = solver.plans[:, IN_USE] = 1
        iterate_rounds(solver, 3)
        done = solver.changed == 0
        before = solver.bits.reshape(BLOCKS, -1, LANES).copy()
        iterate_rounds(solver, VELOCITY_ITERATIONS // ROUND - 3)
        after = solver.bits.reshape(BLOCKS, -1, LANES)
        same = (before == after).all(axis=1)
        assert same[done].all()
        stopped += int(done.sum())
        went_on += int((~same).sum())
    assert stopped > 20
    assert went_on > 20


def test_a_world_is_the_same_alone_and_in_company():
    """Alone it waits for no lane, and takes none over from another."""
    task = stax.make_task("curling", threads=1)
    genomes = np.concatenate([recorded("curling")["genome"], np.random.default_rng(5).normal(size=(150, task.genome_size))])
    together = task.evaluate(genomes)
    for row in [*range(0, len(genomes), 17), len(genomes) - 1]:
        alone = task.evaluate(genomes[row : row + 1])
        np.testing.assert_array_equal(alone.snapshots[0], together.snapshots[row])

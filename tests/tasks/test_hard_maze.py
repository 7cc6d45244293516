"""The maze's map and lasers, against a plain walk from cell to cell."""

from __future__ import annotations

import math

import numpy as np

from stax.tasks.hard_maze import SENSORS, advance, begin
from stax.tasks.hard_maze_physics import CELL, CELLS, LASER_RANGE, MEASURED_FREE, MEASURED_WALLS, WALL_CELLS, polygon_cells

FIVE = (-90, -45, 0, 45, 90)


def cell_of(coordinate: float) -> int:
    return int(math.copysign(math.floor(abs(coordinate) / CELL + 0.5), coordinate))


def is_wall(column: int, row: int) -> bool:
    return not (0 <= column < CELLS and 0 <= row < CELLS) or bool(WALL_CELLS[column, row])


def plain_laser(x: float, y: float, angle: float) -> float:
    """The line of cells to the end of the range, with the cells whose corners it clips, one after the other."""
    column, row = cell_of(x), cell_of(y)
    end_column, end_row = cell_of(x + LASER_RANGE * math.cos(angle)), cell_of(y + LASER_RANGE * math.sin(angle))
    dx, dy = abs(end_column - column), abs(end_row - row)
    step_x, step_y = (1 if end_column > column else -1), (1 if end_row > row else -1)
    along_x = dx > dy
    longer, shorter = max(dx, dy), min(dx, dy)
    error = previous = longer
    for _ in range(longer):
        beside: list[tuple[int, int]] = []
        error += 2 * shorter
        old_column, old_row = column, row
        if along_x:
            column += step_x
        else:
            row += step_y
        if error > 2 * longer:
            error -= 2 * longer
            if along_x:
                row += step_y
            else:
                column += step_x
            on_main = (column, old_row) if along_x else (old_column, row)
            on_side = (old_column, row) if along_x else (column, old_row)
            if error + previous < 2 * longer:
                beside = [on_main]
            elif error + previous > 2 * longer:
                beside = [on_side]
            else:
                beside = [on_main, on_side]
        if is_wall(column, row) or any(is_wall(*cell) for cell in beside):
            return min(math.hypot(x - CELL * column, y - CELL * row), LASER_RANGE)
        previous = error
    return LASER_RANGE


def free_poses(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    poses = []
    while len(poses) < count:
        x, y = rng.uniform(20, 570, size=2)
        if not any(is_wall(cell_of(x) + i, cell_of(y) + j) for i in range(-5, 6) for j in range(-5, 6)):
            poses.append((x, y, rng.uniform(-math.pi, math.pi)))
    return np.array(poses, np.float32).astype(np.float64)


def test_five_lasers_are_where_they_should_be():
    wrong = 0
    for x, y, heading in free_poses(400):
        state = np.array([x, y, heading, 0, 0, 0, 0, 0])
        advance(state, 0.0, 0.0, SENSORS["lasers"])
        for reading, degrees in zip(state[3:], FIVE, strict=True):
            expected = plain_laser(x, y, heading + math.radians(degrees))
            # A ray that ends within a rounding of a cell's border may take the other cell.
            wrong += abs(100 * reading - expected) > 1e-3
    assert wrong <= 2


def test_published_sensors_are_the_same_lasers_in_another_order():
    for x, y, heading in free_poses(50, seed=1):
        five, three = np.array([x, y, heading, 0, 0, 0, 0, 0]), np.array([x, y, heading, 0, 0, 0, 0, 0])
        advance(five, 0.0, 0.0, SENSORS["lasers"])
        advance(three, 0.0, 0.0, SENSORS["published-code"])
        np.testing.assert_allclose(three[3:6], 100 * five[[6, 5, 4]], atol=1e-4)
        assert three[6:].tolist() == [0, 0]


def test_start_is_measured_for_lasers_only():
    state = np.empty(8)
    begin(state, SENSORS["lasers"])
    x, y, heading = state[:3]
    expected = [plain_laser(x, y, heading + math.radians(degrees)) / 100 for degrees in FIVE]
    np.testing.assert_allclose(state[3:], expected, atol=1e-5)
    begin(state, SENSORS["published-code"])
    assert state[3:].tolist() == [100, 100, 100, 0, 0]


def test_straight_ahead_and_on_an_arc_by_hand():
    state = np.array([300.0, 200.0, 0.0, 0, 0, 0, 0, 0])
    advance(state, 1.0, 1.0, SENSORS["lasers"])
    np.testing.assert_allclose(state[:3], [301.0, 200.0, 0.0], atol=1e-5)
    # Left wheel 0.5, right wheel 1: turn 0.025, radius 0.5 / 0.025 + 10 = 30.
    state = np.array([300.0, 200.0, 0.0, 0, 0, 0, 0, 0])
    advance(state, 0.5, 1.0, SENSORS["lasers"])
    np.testing.assert_allclose(state[:3], [300 + 30 * math.sin(0.025), 200 + 30 * (1 - math.cos(0.025)), 0.025], atol=1e-4)


def test_a_wall_stops_the_robot_but_not_its_turn():
    state = np.array([20.0, 300.0, math.pi, 0, 0, 0, 0, 0])
    for _ in range(30):
        advance(state, 1.0, 0.9, SENSORS["published-code"])
    assert state[0] > 7.5 + 6
    assert state[2] != math.pi


def test_map():
    polygons = polygon_cells()
    assert WALL_CELLS.shape == (CELLS, CELLS)
    assert WALL_CELLS[0].all()
    assert WALL_CELLS[:, 0].all()
    changed = {(int(i), int(j)) for i, j in np.argwhere(polygons != WALL_CELLS)}
    assert changed == {tuple(cell) for cell in (*MEASURED_WALLS, *MEASURED_FREE)}
    assert len(changed) == 22

"""Time-of-impact sub-steps, which stop fast bodies where they meet instead of letting them pass into each other."""

from __future__ import annotations

import math

from .contacts import collide, edge_normal, find_new_contacts, is_gathered, move_fat_box, newest_contact, unit, vertex
from .positions import advance, correct_contact
from .scene import (
    ALPHA,
    ANGLE,
    ANGLE_0,
    BALL,
    BIG,
    BODIES,
    BORN,
    CLOCK,
    COS_0,
    DT,
    ENABLED,
    EPSILON,
    FIRST_MOVING,
    HALF,
    HALF_SIZE,
    IMPACT,
    IN_SUB_STEP,
    LINEAR_SLOP,
    MAX_SUB_STEPS,
    ONE,
    ORDER,
    PAIR_COUNT,
    PAIRS,
    POINTS,
    RADIUS,
    SIN_0,
    SUB_STEPS,
    THREE,
    TOI_BAUMGARTE,
    TOI_POSITION_ITERATIONS,
    TWO_PI,
    VELOCITY_ITERATIONS,
    X_0,
    Y_0,
    ZERO,
    X,
    Y,
    compiled,
    f32,
    start_sweep,
)
from .velocities import load_contact, load_velocities, points_to_solve, solve_contacts, store_velocities


@compiled
def solve_impacts(world, spare, plans):
    """Repeat the step from each impact that it passed, earliest first, in separate lanes."""
    world.body[:, ALPHA] = ZERO
    world.contact[:, IMPACT] = -ONE
    world.tally[:, SUB_STEPS] = 0
    while True:
        pair, alpha = _next_impact(world)
        if pair < 0 or ONE - f32(10) * EPSILON < alpha:
            return
        _solve_impact(world, pair, alpha, spare, plans)


@compiled
def _solve_impact(world, pair, alpha, spare, plans):
    a, b = PAIRS[pair, 0], PAIRS[pair, 1]
    _sweep_to(world, a, alpha)
    _sweep_to(world, b, alpha)
    collide(world, pair)
    world.contact[pair, IMPACT] = -ONE
    world.tally[pair, SUB_STEPS] += 1
    if not world.tally[pair, POINTS]:
        world.tally[pair, ENABLED] = 0
        _undo_sweep(world, a)
        _undo_sweep(world, b)
        return
    world.counts[IN_SUB_STEP:] = 0
    world.counts[IN_SUB_STEP + a] = 1
    world.counts[IN_SUB_STEP + b] = 1
    world.tally[0, ORDER] = pair
    contacts = 1
    for body in (a, b):
        if body >= FIRST_MOVING:
            contacts = _gather_impact_contacts(world, body, alpha, contacts)
    _correct_positions(world, contacts, a, b)
    start_sweep(world, a)
    start_sweep(world, b)
    _solve_velocities(world, contacts, spare, plans)
    for body in range(FIRST_MOVING, BODIES):
        if world.counts[IN_SUB_STEP + body]:
            advance(world, body, (ONE - alpha) * DT)
            move_fat_box(world, body)
            for other in range(PAIR_COUNT):
                if PAIRS[other, 0] == body or PAIRS[other, 1] == body:
                    world.contact[other, IMPACT] = -ONE
    find_new_contacts(world)


@compiled
def _correct_positions(world, contacts, a, b):
    """Push the two bodies of the impact apart; the others in the sub-step stay where they are."""
    for _ in range(TOI_POSITION_ITERATIONS):
        least = ZERO
        for slot in range(contacts):
            pair = world.tally[slot, ORDER]
            first, second = PAIRS[pair, 0], PAIRS[pair, 1]
            for j in range(world.tally[pair, POINTS]):
                move_first, move_second = first == a or first == b, second == a or second == b
                least = min(least, correct_contact(world, pair, j, TOI_BAUMGARTE, move_first, move_second))
        if least >= f32(-1.5) * LINEAR_SLOP:
            return


@compiled
def _solve_velocities(world, contacts, spare, plans):
    """Do velocity iterations on the contacts alone, without warm start: hinges wait for the next step, as in Box2D."""
    load_velocities(world, spare[0], 0)
    for slot in range(contacts):
        load_contact(world, world.tally[slot, ORDER], spare[0], 0, slot, ZERO)
        plans[0, slot] = points_to_solve(spare[0], 0, slot)
    plans[0, contacts] = 0
    for _ in range(VELOCITY_ITERATIONS):
        solve_contacts(spare, plans)
    store_velocities(world, spare[0], 0)


@compiled
def _shift_sweep(world, body, alpha):
    """Move the start of a body's sweep to a later fraction of the step."""
    share = (alpha - world.body[body, ALPHA]) / (ONE - world.body[body, ALPHA])
    world.body[body, X_0] = (ONE - share) * world.body[body, X_0] + share * world.body[body, X]
    world.body[body, Y_0] = (ONE - share) * world.body[body, Y_0] + share * world.body[body, Y]
    world.body[body, ANGLE_0] = (ONE - share) * world.body[body, ANGLE_0] + share * world.body[body, ANGLE]
    if body != BALL:
        world.body[body, SIN_0] = math.sin(world.body[body, ANGLE_0])
        world.body[body, COS_0] = math.cos(world.body[body, ANGLE_0])
    world.body[body, ALPHA] = alpha


@compiled
def _sweep_to(world, body, alpha):
    """Put a body where it was at that fraction of the step, and save its pose at the end of the step."""
    for column in range(ALPHA + 1):
        world.backup[body, column] = world.body[body, column]
    _shift_sweep(world, body, alpha)
    for column in range(5):
        world.body[body, X + column] = world.body[body, X_0 + column]


@compiled
def _undo_sweep(world, body):
    for column in range(ALPHA + 1):
        world.body[body, column] = world.backup[body, column]


@compiled
def _gather_impact_contacts(world, body, alpha, count):
    """Add what the body touches at the time of impact to the sub-step, newest contact first."""
    pair = newest_contact(world, body, world.counts[CLOCK], False)
    while pair >= 0:
        if not is_gathered(world, pair, count):
            other = PAIRS[pair, 0] if PAIRS[pair, 1] == body else PAIRS[pair, 1]
            inside = world.counts[IN_SUB_STEP + other]
            if not inside:
                _sweep_to(world, other, alpha)
            collide(world, pair)
            if world.tally[pair, POINTS]:
                world.tally[count, ORDER] = pair
                world.counts[IN_SUB_STEP + other] = 1
                count += 1
            elif not inside:
                _undo_sweep(world, other)
        pair = newest_contact(world, body, world.tally[pair, BORN], False)
    return count


@compiled
def _next_impact(world):
    """Return the pair with the earliest impact in the rest of the step, and its time; -1 for none. Newest pairs go first."""
    first, earliest = -1, ONE
    pair = newest_contact(world, -1, world.counts[CLOCK], False)
    while pair >= 0:
        if world.tally[pair, ENABLED] and world.tally[pair, SUB_STEPS] <= MAX_SUB_STEPS:
            if world.contact[pair, IMPACT] < ZERO:
                world.contact[pair, IMPACT] = _impact_of(world, PAIRS[pair, 0], PAIRS[pair, 1])
            if world.contact[pair, IMPACT] < earliest:
                first, earliest = pair, world.contact[pair, IMPACT]
        pair = newest_contact(world, -1, world.tally[pair, BORN], False)
    return first, earliest


@compiled
def _impact_of(world, a, b):
    """Return the fraction of the step at which two bodies meet, or 1 if they do not."""
    start = max(world.body[a, ALPHA], world.body[b, ALPHA])
    if world.body[a, ALPHA] < start:
        _shift_sweep(world, a, start)
    if world.body[b, ALPHA] < start:
        _shift_sweep(world, b, start)
    if _stay_apart(world, a, b):
        return ONE
    touching, t = _time_of_impact(world, a, b)
    return min(start + (ONE - start) * t, ONE) if touching else ONE


@compiled
def _stay_apart(world, a, b):
    """Return whether the sweeps are too short for the two to meet, which saves most pairs the search for a root."""
    distance, _, _, _ = _closest_features(
        a,
        b,
        (world.body[a, X_0], world.body[a, Y_0], world.body[a, SIN_0], world.body[a, COS_0]),
        (world.body[b, X_0], world.body[b, Y_0], world.body[b, SIN_0], world.body[b, COS_0]),
    )
    return distance - _longest_move(world, a) - _longest_move(world, b) > _target(a, b) + LINEAR_SLOP


@compiled
def _longest_move(world, body):
    """Return an upper bound of the distance that any point of a body's core moves in its sweep."""
    move = abs(world.body[body, X] - world.body[body, X_0]) + abs(world.body[body, Y] - world.body[body, Y_0])
    return (
        move
        if body == BALL
        else move + abs(world.body[body, ANGLE] - world.body[body, ANGLE_0]) * (HALF_SIZE[body, 0] + HALF_SIZE[body, 1])
    )


@compiled
def _target(a, b):
    """Return the distance between two cores that counts as an impact."""
    return max(LINEAR_SLOP, RADIUS[a] + RADIUS[b] - THREE * LINEAR_SLOP)


@compiled
def _pose_during(world, body, t, whole_turns):
    """Return position, sine and cosine of a body at a fraction of its sweep."""
    angle = (ONE - t) * (world.body[body, ANGLE_0] - whole_turns) + t * (world.body[body, ANGLE] - whole_turns)
    return (
        (ONE - t) * world.body[body, X_0] + t * world.body[body, X],
        (ONE - t) * world.body[body, Y_0] + t * world.body[body, Y],
        math.sin(angle),
        math.cos(angle),
    )


@compiled
def _whole_turns(world, body):
    return TWO_PI * f32(math.floor(world.body[body, ANGLE_0] / TWO_PI))


@compiled
def _time_of_impact(world, a, b):
    """Find by conservative advancement whether the pair comes within reach in its sweep, and at which fraction of it."""
    target = _target(a, b)
    tolerance = f32(0.25) * LINEAR_SLOP
    turns_a, turns_b = _whole_turns(world, a), _whole_turns(world, b)
    t1 = ZERO
    for _ in range(20):
        at_a, at_b = _pose_during(world, a, t1, turns_a), _pose_during(world, b, t1, turns_b)
        distance, kind, ia, ib = _closest_features(a, b, at_a, at_b)
        if distance <= ZERO:
            return False, ZERO
        if distance < target + tolerance:
            return True, t1
        lx, ly, nx, ny = _separating_axis(a, b, at_a, at_b, kind, ia, ib)
        t2 = ONE
        for _ in range(8):
            at_a, at_b = _pose_during(world, a, t2, turns_a), _pose_during(world, b, t2, turns_b)
            ia, ib = _deepest_vertices(a, b, at_a, at_b, kind, ia, ib, nx, ny)
            s2 = _separation(a, b, at_a, at_b, kind, ia, ib, lx, ly, nx, ny)
            if s2 > target + tolerance:
                return False, ONE
            if s2 > target - tolerance:
                t1 = t2
                break
            at_a, at_b = _pose_during(world, a, t1, turns_a), _pose_during(world, b, t1, turns_b)
            s1 = _separation(a, b, at_a, at_b, kind, ia, ib, lx, ly, nx, ny)
            if s1 < target - tolerance:
                return False, t1
            if s1 <= target + tolerance:
                return True, t1
            # Find a root of separation = target, alternating between bisection and false position.
            low, high = t1, t2
            for i in range(50):
                if i & 1:
                    t = low + (target - s1) * (high - low) / (s2 - s1)
                else:
                    t = HALF * (low + high)
                at_a, at_b = _pose_during(world, a, t, turns_a), _pose_during(world, b, t, turns_b)
                s = _separation(a, b, at_a, at_b, kind, ia, ib, lx, ly, nx, ny)
                if abs(s - target) < tolerance:
                    t2 = t
                    break
                if s > target:
                    low, s1 = t, s
                else:
                    high, s2 = t, s
    return False, t1


_CORNERS, _FACE_A, _FACE_B = 0, 1, 2


@compiled
def _place(at, x, y):
    return (at[3] * x - at[2] * y) + at[0], (at[2] * x + at[3] * y) + at[1]


@compiled
def _corner(body, at, index):
    if body == BALL:
        return at[0], at[1]
    x, y = vertex(body, index)
    return _place(at, x, y)


@compiled
def _point_to_box(body, at, x, y):
    """Return the distance from a point to a box, and the nearest feature: a corner (-1 - index) or an edge (index)."""
    dx, dy = x - at[0], y - at[1]
    px, py = at[3] * dx + at[2] * dy, -at[2] * dx + at[3] * dy
    hx, hy = HALF_SIZE[body, 0], HALF_SIZE[body, 1]
    beyond_x, beyond_y = abs(px) - hx, abs(py) - hy
    if beyond_x > ZERO and beyond_y > ZERO:
        index = (0 if py < ZERO else 3) if px < ZERO else (1 if py < ZERO else 2)
        return math.sqrt(beyond_x * beyond_x + beyond_y * beyond_y), -1 - index
    if beyond_x > beyond_y:
        return beyond_x, (3 if px < ZERO else 1)
    return beyond_y, (0 if py < ZERO else 2)


@compiled
def _closest_features(a, b, at_a, at_b):
    """Return the distance between the cores of two shapes, and the type and the indices of the nearest features."""
    best, kind, ia, ib = BIG, _CORNERS, 0, 0
    for j in range(1 if b == BALL else 4):
        x, y = _corner(b, at_b, j)
        distance, feature = _point_to_box(a, at_a, x, y)
        if distance < best:
            best, ib = distance, j
            kind, ia = (_FACE_A, feature) if feature >= 0 else (_CORNERS, -1 - feature)
    if b != BALL:
        for i in range(4):
            x, y = _corner(a, at_a, i)
            distance, feature = _point_to_box(b, at_b, x, y)
            if distance < best and feature >= 0:
                best, kind, ia, ib = distance, _FACE_B, i, feature
    return best, kind, ia, ib


@compiled
def _separating_axis(a, b, at_a, at_b, kind, ia, ib):
    """Return a point and a direction: of the face in its body's frame, or of the line between two corners in the world."""
    if kind == _CORNERS:
        ax, ay = _corner(a, at_a, ia)
        bx, by = _corner(b, at_b, ib)
        nx, ny = unit(bx - ax, by - ay)
        return ZERO, ZERO, nx, ny
    body, edge = (a, ia) if kind == _FACE_A else (b, ib)
    x1, y1 = vertex(body, edge)
    x2, y2 = vertex(body, (edge + 1) % 4)
    nx, ny = edge_normal(edge)
    return HALF * (x1 + x2), HALF * (y1 + y2), nx, ny


@compiled
def _support(body, at, x, y):
    """Return the corner of a shape that lies farthest in a direction of the world."""
    if body == BALL:
        return 0
    lx, ly = at[3] * x + at[2] * y, -at[2] * x + at[3] * y
    best, index = -BIG, 0
    for i in range(4):
        vx, vy = vertex(body, i)
        value = vx * lx + vy * ly
        if value > best:
            best, index = value, i
    return index


@compiled
def _deepest_vertices(a, b, at_a, at_b, kind, ia, ib, nx, ny):
    if kind == _CORNERS:
        return _support(a, at_a, nx, ny), _support(b, at_b, -nx, -ny)
    if kind == _FACE_A:
        wx, wy = at_a[3] * nx - at_a[2] * ny, at_a[2] * nx + at_a[3] * ny
        return ia, _support(b, at_b, -wx, -wy)
    wx, wy = at_b[3] * nx - at_b[2] * ny, at_b[2] * nx + at_b[3] * ny
    return _support(a, at_a, -wx, -wy), ib


@compiled
def _separation(a, b, at_a, at_b, kind, ia, ib, lx, ly, nx, ny):
    if kind == _CORNERS:
        ax, ay = _corner(a, at_a, ia)
        bx, by = _corner(b, at_b, ib)
        return (bx - ax) * nx + (by - ay) * ny
    if kind == _FACE_A:
        wx, wy = at_a[3] * nx - at_a[2] * ny, at_a[2] * nx + at_a[3] * ny
        fx, fy = _place(at_a, lx, ly)
        px, py = _corner(b, at_b, ib)
        return (px - fx) * wx + (py - fy) * wy
    wx, wy = at_b[3] * nx - at_b[2] * ny, at_b[2] * nx + at_b[3] * ny
    fx, fy = _place(at_b, lx, ly)
    px, py = _corner(a, at_a, ia)
    return (px - fx) * wx + (py - fy) * wy

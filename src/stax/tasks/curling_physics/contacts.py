"""Contacts: which pairs are near (broad phase), where they touch (narrow phase), and the order in which they are solved."""

from __future__ import annotations

import math

from .scene import (
    ALL_CONTACTS,
    ARM_CONTACTS,
    BALL,
    BALL_RADIUS,
    BIG,
    BODIES,
    BORN,
    CLOCK,
    COS,
    COS_0,
    ENABLED,
    EPSILON,
    FATTEN,
    FEATURE_0,
    FEATURE_1,
    FIRST,
    FIRST_MOVING,
    FLIPPED,
    HALF,
    HALF_SIZE,
    IMPACT,
    LEFT_SIDE,
    LINK_0,
    LINK_1,
    LOCAL_NX,
    LOCAL_NY,
    LOCAL_PX,
    LOCAL_PY,
    LOWER_SIDE,
    LX,
    LY,
    OLD_NORMAL,
    OLD_TANGENT,
    ONE,
    ORDER,
    PAIR_COUNT,
    PAIRS,
    POINTS,
    PREDICT,
    RIGHT_SIDE,
    SIN,
    SIN_0,
    SKIN,
    START,
    SUB_STEPS,
    UPPER_SIDE,
    X_0,
    Y_0,
    ZERO,
    X,
    Y,
    compiled,
    f32,
    start_sweep,
    world_at,
)


@compiled
def reset(worlds, lane):
    """Put every body of one world at its start, at rest, without contacts."""
    world = world_at(worlds, lane)
    world.body[:] = ZERO
    world.hinge[:] = ZERO
    world.tally[:] = 0
    world.tally[:, BORN] = -1
    world.counts[:] = 0
    world.counts[FIRST] = 1
    for body in range(BODIES):
        world.body[body, X] = START[body, 0]
        world.body[body, Y] = START[body, 1]
        world.body[body, COS] = ONE
        start_sweep(world, body)
        x0, y0, x1, y1 = box_at(body, START[body, 0], START[body, 1], ZERO, ONE)
        world.body[body, LEFT_SIDE] = x0 - FATTEN
        world.body[body, LOWER_SIDE] = y0 - FATTEN
        world.body[body, RIGHT_SIDE] = x1 + FATTEN
        world.body[body, UPPER_SIDE] = y1 + FATTEN


# --- Broad phase ---------------------------------------------------------------------------------------------------------


@compiled
def box_at(body, x, y, sine, cosine):
    """Return the axis-aligned box around a body at a pose."""
    if body == BALL:
        return x - BALL_RADIUS, y - BALL_RADIUS, x + BALL_RADIUS, y + BALL_RADIUS
    x0 = y0 = BIG
    x1 = y1 = -BIG
    for corner in range(4):
        vx, vy = vertex(body, corner)
        px = (cosine * vx - sine * vy) + x
        py = (sine * vx + cosine * vy) + y
        x0 = min(x0, px)
        y0 = min(y0, py)
        x1 = max(x1, px)
        y1 = max(y1, py)
    return x0 - SKIN, y0 - SKIN, x1 + SKIN, y1 + SKIN


@compiled
def move_fat_box(world, body):
    """Refit a body's fattened box if this step's sweep left it."""
    ax0, ay0, ax1, ay1 = box_at(
        body, world.body[body, X_0], world.body[body, Y_0], world.body[body, SIN_0], world.body[body, COS_0]
    )
    bx0, by0, bx1, by1 = box_at(body, world.body[body, X], world.body[body, Y], world.body[body, SIN], world.body[body, COS])
    x0, y0, x1, y1 = min(ax0, bx0), min(ay0, by0), max(ax1, bx1), max(ay1, by1)
    if (
        world.body[body, LEFT_SIDE] <= x0
        and world.body[body, LOWER_SIDE] <= y0
        and x1 <= world.body[body, RIGHT_SIDE]
        and y1 <= world.body[body, UPPER_SIDE]
    ):
        return
    dx = PREDICT * (world.body[body, X] - world.body[body, X_0])
    dy = PREDICT * (world.body[body, Y] - world.body[body, Y_0])
    world.body[body, LEFT_SIDE] = x0 - FATTEN + min(dx, ZERO)
    world.body[body, LOWER_SIDE] = y0 - FATTEN + min(dy, ZERO)
    world.body[body, RIGHT_SIDE] = x1 + FATTEN + max(dx, ZERO)
    world.body[body, UPPER_SIDE] = y1 + FATTEN + max(dy, ZERO)


@compiled
def _near(world, pair):
    a, b = PAIRS[pair, 0], PAIRS[pair, 1]
    return (
        world.body[a, LEFT_SIDE] <= world.body[b, RIGHT_SIDE]
        and world.body[a, LOWER_SIDE] <= world.body[b, UPPER_SIDE]
        and world.body[b, LEFT_SIDE] <= world.body[a, RIGHT_SIDE]
        and world.body[b, LOWER_SIDE] <= world.body[a, UPPER_SIDE]
    )


@compiled
def find_new_contacts(world):
    for pair in range(PAIR_COUNT):
        if world.tally[pair, BORN] < 0 and _near(world, pair):
            world.tally[pair, BORN] = world.counts[CLOCK]
            world.counts[CLOCK] += 1
            world.tally[pair, POINTS] = 0
            world.tally[pair, ENABLED] = 1
            world.contact[pair, IMPACT] = -ONE
            world.tally[pair, SUB_STEPS] = 0


@compiled
def update_contacts(world):
    for pair in range(PAIR_COUNT):
        if world.tally[pair, BORN] >= 0:
            if _near(world, pair):
                collide(world, pair)
            else:
                world.tally[pair, BORN] = -1
                world.tally[pair, POINTS] = 0


# --- Narrow phase --------------------------------------------------------------------------------------------------------


@compiled
def vertex(body, index):
    """Return a corner of a box, counter-clockwise from the lower left."""
    hx, hy = HALF_SIZE[body, 0], HALF_SIZE[body, 1]
    return (-hx if index == 0 or index == 3 else hx), (-hy if index < 2 else hy)


@compiled
def edge_normal(index):
    """Return the outward normal of the edge from corner `index` to the next."""
    if index == 0:
        return ZERO, -ONE
    if index == 1:
        return ONE, ZERO
    if index == 2:
        return ZERO, ONE
    return -ONE, ZERO


@compiled
def unit(x, y):
    length = math.sqrt(x * x + y * y)
    if length < EPSILON:
        return x, y
    inverse = ONE / length
    return x * inverse, y * inverse


@compiled
def collide(world, pair):
    """Update a pair's manifold; impulses follow features that meet again."""
    world.tally[pair, ENABLED] = 1
    if PAIRS[pair, 1] == BALL:
        _collide_ball(world, pair)
    else:
        _collide_boxes(world, pair)


@compiled
def _collide_ball(world, pair):
    body = PAIRS[pair, 0]
    was_touching = world.tally[pair, POINTS] > 0
    world.tally[pair, POINTS] = 0
    sine, cosine = world.body[body, SIN], world.body[body, COS]
    px = world.body[BALL, X] - world.body[body, X]
    py = world.body[BALL, Y] - world.body[body, Y]
    cx = cosine * px + sine * py
    cy = -sine * px + cosine * py
    reach = SKIN + BALL_RADIUS

    edge, separation = 0, -BIG
    for i in range(4):
        nx, ny = edge_normal(i)
        vx, vy = vertex(body, i)
        s = nx * (cx - vx) + ny * (cy - vy)
        if s > reach:
            return
        if s > separation:
            separation = s
            edge = i
    v1x, v1y = vertex(body, edge)
    v2x, v2y = vertex(body, (edge + 1) % 4)
    nx, ny = edge_normal(edge)
    mx, my = HALF * (v1x + v2x), HALF * (v1y + v2y)
    if separation >= EPSILON:
        u1 = (cx - v1x) * (v2x - v1x) + (cy - v1y) * (v2y - v1y)
        u2 = (cx - v2x) * (v1x - v2x) + (cy - v2y) * (v1y - v2y)
        if u1 <= ZERO or u2 <= ZERO:
            if u1 <= ZERO:
                mx, my = v1x, v1y
            else:
                mx, my = v2x, v2y
            nx, ny = cx - mx, cy - my
            if nx * nx + ny * ny > reach * reach:
                return
            nx, ny = unit(nx, ny)
        elif (cx - mx) * nx + (cy - my) * ny > reach:
            return
    world.tally[pair, POINTS] = 1
    world.tally[pair, FLIPPED] = 0
    world.contact[pair, LOCAL_NX] = nx
    world.contact[pair, LOCAL_NY] = ny
    world.contact[pair, LOCAL_PX] = mx
    world.contact[pair, LOCAL_PY] = my
    world.point[pair, 0, LX] = ZERO
    world.point[pair, 0, LY] = ZERO
    world.tally[pair, FEATURE_0] = 0
    if not was_touching:
        world.point[pair, 0, OLD_NORMAL] = ZERO
        world.point[pair, 0, OLD_TANGENT] = ZERO


@compiled
def _deepest_edge(world, body, other):
    """Return the edge of `body` with the largest separation from `other`, and the separation."""
    best, best_edge = -BIG, 0
    sa, ca = world.body[body, SIN], world.body[body, COS]
    so, co = world.body[other, SIN], world.body[other, COS]
    for edge in range(4):
        lx, ly = edge_normal(edge)
        nx, ny = ca * lx - sa * ly, sa * lx + ca * ly
        vx, vy = vertex(body, edge)
        ex, ey = (ca * vx - sa * vy) + world.body[body, X], (sa * vx + ca * vy) + world.body[body, Y]
        least = BIG
        for corner in range(4):
            wx, wy = vertex(other, corner)
            ox, oy = (co * wx - so * wy) + world.body[other, X], (so * wx + co * wy) + world.body[other, Y]
            least = min(least, nx * (ox - ex) + ny * (oy - ey))
        if least > best:
            best, best_edge = least, edge
    return best_edge, best


@compiled
def _collide_boxes(world, pair):
    """Clip the incident edge of one box against the sides of the other's reference edge."""
    a, b = PAIRS[pair, 0], PAIRS[pair, 1]
    old_points = world.tally[pair, POINTS]
    old_feature_0, old_feature_1 = world.tally[pair, FEATURE_0], world.tally[pair, FEATURE_1]
    old_normal_0, old_normal_1 = world.point[pair, 0, OLD_NORMAL], world.point[pair, 1, OLD_NORMAL]
    old_tangent_0, old_tangent_1 = world.point[pair, 0, OLD_TANGENT], world.point[pair, 1, OLD_TANGENT]
    world.tally[pair, POINTS] = 0
    reach = SKIN + SKIN
    edge_a, separation_a = _deepest_edge(world, a, b)
    if separation_a > reach:
        return
    edge_b, separation_b = _deepest_edge(world, b, a)
    if separation_b > reach:
        return
    if separation_b > f32(0.98) * separation_a + f32(0.001):
        reference, incident, edge, flip = b, a, edge_b, 1
    else:
        reference, incident, edge, flip = a, b, edge_a, 0

    sr, cr = world.body[reference, SIN], world.body[reference, COS]
    si, ci = world.body[incident, SIN], world.body[incident, COS]
    lx, ly = edge_normal(edge)
    nx, ny = cr * lx - sr * ly, sr * lx + cr * ly
    # The incident edge is the one that faces the reference normal most.
    facing, incident_edge = BIG, 0
    for i in range(4):
        ix, iy = edge_normal(i)
        d = nx * (ci * ix - si * iy) + ny * (si * ix + ci * iy)
        if d < facing:
            facing, incident_edge = d, i
    i1, i2 = incident_edge, (incident_edge + 1) % 4
    vx, vy = vertex(incident, i1)
    p1x, p1y = (ci * vx - si * vy) + world.body[incident, X], (si * vx + ci * vy) + world.body[incident, Y]
    vx, vy = vertex(incident, i2)
    p2x, p2y = (ci * vx - si * vy) + world.body[incident, X], (si * vx + ci * vy) + world.body[incident, Y]
    feature_1, feature_2 = 8 * edge + i1, 8 * edge + i2

    l1x, l1y = vertex(reference, edge)
    l2x, l2y = vertex(reference, (edge + 1) % 4)
    tx, ty = unit(l2x - l1x, l2y - l1y)
    world.contact[pair, LOCAL_NX] = ty
    world.contact[pair, LOCAL_NY] = -tx
    world.contact[pair, LOCAL_PX] = HALF * (l1x + l2x)
    world.contact[pair, LOCAL_PY] = HALF * (l1y + l2y)
    world.tally[pair, FLIPPED] = flip
    tx, ty = cr * tx - sr * ty, sr * tx + cr * ty
    nx, ny = ty, -tx
    v1x, v1y = (cr * l1x - sr * l1y) + world.body[reference, X], (sr * l1x + cr * l1y) + world.body[reference, Y]
    v2x, v2y = (cr * l2x - sr * l2y) + world.body[reference, X], (sr * l2x + cr * l2y) + world.body[reference, Y]
    front = nx * v1x + ny * v1y
    for side in range(2):
        if side == 0:
            sx, sy = -tx, -ty
            offset = -(tx * v1x + ty * v1y) + reach
        else:
            sx, sy = tx, ty
            offset = (tx * v2x + ty * v2y) + reach
        d1 = (sx * p1x + sy * p1y) - offset
        d2 = (sx * p2x + sy * p2y) - offset
        if d1 > ZERO and d2 > ZERO:
            return
        if d1 * d2 < ZERO:
            share = d1 / (d1 - d2)
            mx, my = p1x + share * (p2x - p1x), p1y + share * (p2y - p1y)
            if d1 > ZERO:
                p1x, p1y = mx, my
                feature_1 = 64 + 8 * edge + side
            else:
                p2x, p2y = mx, my
                feature_2 = 64 + 8 * edge + side
    count = 0
    for i in range(2):
        px, py, feature = (p1x, p1y, feature_1) if i == 0 else (p2x, p2y, feature_2)
        if (nx * px + ny * py) - front > reach:
            continue
        dx, dy = px - world.body[incident, X], py - world.body[incident, Y]
        world.point[pair, count, LX] = ci * dx + si * dy
        world.point[pair, count, LY] = -si * dx + ci * dy
        feature += 1024 * flip
        world.tally[pair, FEATURE_0 + count] = feature
        world.point[pair, count, OLD_NORMAL] = ZERO
        world.point[pair, count, OLD_TANGENT] = ZERO
        if old_points > 0 and old_feature_0 == feature:
            world.point[pair, count, OLD_NORMAL] = old_normal_0
            world.point[pair, count, OLD_TANGENT] = old_tangent_0
        elif old_points > 1 and old_feature_1 == feature:
            world.point[pair, count, OLD_NORMAL] = old_normal_1
            world.point[pair, count, OLD_TANGENT] = old_tangent_1
        count += 1
    world.tally[pair, POINTS] = count


@compiled
def manifold_at(world, pair, point):
    """Return the normal (from first to second body), contact point on the incident shape and separation, at these poses."""
    if world.tally[pair, FLIPPED]:
        reference, incident = PAIRS[pair, 1], PAIRS[pair, 0]
    else:
        reference, incident = PAIRS[pair, 0], PAIRS[pair, 1]
    sr, cr = world.body[reference, SIN], world.body[reference, COS]
    lx, ly = world.contact[pair, LOCAL_NX], world.contact[pair, LOCAL_NY]
    nx, ny = cr * lx - sr * ly, sr * lx + cr * ly
    lx, ly = world.contact[pair, LOCAL_PX], world.contact[pair, LOCAL_PY]
    fx, fy = (cr * lx - sr * ly) + world.body[reference, X], (sr * lx + cr * ly) + world.body[reference, Y]
    si, ci = world.body[incident, SIN], world.body[incident, COS]
    lx, ly = world.point[pair, point, LX], world.point[pair, point, LY]
    px, py = (ci * lx - si * ly) + world.body[incident, X], (si * lx + ci * ly) + world.body[incident, Y]
    depth = (px - fx) * nx + (py - fy) * ny
    return nx, ny, px, py, depth


# --- Islands: which contacts are solved together, in which order -----------------------------------------------------------


@compiled
def newest_contact(world, body, below, touching):
    """Return the youngest pair of a body (any body: -1) born before `below`, or -1; with `touching`, only of touching pairs."""
    newest, found = -1, -1
    for pair in range(PAIR_COUNT):
        born = world.tally[pair, BORN]
        if (
            newest < born < below
            and (body < 0 or PAIRS[pair, 0] == body or PAIRS[pair, 1] == body)
            and (world.tally[pair, POINTS] or not touching)
        ):
            newest, found = born, pair
    return found


@compiled
def is_gathered(world, pair, count):
    for i in range(count):
        if world.tally[i, ORDER] == pair:
            return True
    return False


@compiled
def _gather(world, body, count):
    """Append a body's touching pairs that are not gathered yet, newest first."""
    pair = newest_contact(world, body, world.counts[CLOCK], True)
    while pair >= 0:
        if not is_gathered(world, pair, count):
            world.tally[count, ORDER] = pair
            count += 1
        pair = newest_contact(world, body, world.tally[pair, BORN], True)
    return count


@compiled
def gather_islands(world):
    """Order the touching pairs as Box2D's walk over bodies, contacts and hinges meets them, the arm's island first."""
    touching = with_ball = False
    for pair in range(PAIR_COUNT):
        if world.tally[pair, POINTS]:
            touching = True
            with_ball = with_ball or (PAIRS[pair, 1] == BALL and PAIRS[pair, 0] >= FIRST_MOVING)
    arm = count = 0
    if touching:
        arm = _gather(world, LINK_0, _gather(world, LINK_1, 0))
        count = _gather(world, BALL, arm)
        if with_ball:
            arm = count
    world.counts[ARM_CONTACTS] = arm
    world.counts[ALL_CONTACTS] = count

"""The bodies of the table, Box2D's settings, and the state of a world."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

f32 = np.float32
# Without reference counts (`_nrt`), which would cost a third of the time: no function here allocates, and none that returns an
# array may be called from outside this folder.
compiled = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, _nrt=False)

# --- The scene ---------------------------------------------------------------------------------------------------------

BOTTOM, TOP, LEFT, RIGHT, BALL, LINK_0, LINK_1 = range(7)
BODIES = 7
FIRST_MOVING = BALL

TABLE_CENTER = f32(1.5)
BALL_RADIUS = f32(0.15)
SKIN = f32(0.01)  # Box2D gives every polygon a rounded skin of this radius

# Half width and half height of each box; the ball's row is not used.
HALF_SIZE = np.array([[1.5, 0.05], [1.5, 0.05], [0.05, 1.5], [0.05, 1.5], [0, 0], [0.05, 0.5], [0.05, 0.5]], f32)
RADIUS = np.array([SKIN, SKIN, SKIN, SKIN, BALL_RADIUS, SKIN, SKIN], f32)
START = np.array([[1.5, 0, 0], [1.5, 3, 0], [0, 1.5, 0], [3, 1.5, 0], [1.0, 1.7, 0], [1.5, 0.5, 0], [1.5, 1.4, 0]], f32)
# Masses are density times area. The inertias are the float32 values that Box2D's sum over triangles arrives at.
MASS = np.array([0.07068584, 0.5, 0.1], f32)
INERTIA = np.array([0.0007952157, 0.042083338, 0.008416668], f32)
INV_MASS = np.concatenate([np.zeros(4, f32), f32(1) / MASS])
INV_INERTIA = np.concatenate([np.zeros(4, f32), f32(1) / INERTIA])
FRICTION = np.array([0.2, 0.2, 0.2, 0.2, 0.9, 0.9, 0.9], f32)
BALL_LINEAR_DAMPING, BALL_ANGULAR_DAMPING = f32(1.1), f32(2)

# The pairs that can touch, ordered as the broad phase reports them. The first is the manifold's reference body: a box in
# every pair, so that the ball is always second. Links hinged to each other or to the lower wall do not collide; link 0
# reaches no other wall, link 1 does not reach the upper one.
PAIRS = np.array(
    [
        (BOTTOM, BALL),
        (BOTTOM, LINK_1),
        (TOP, BALL),
        (LEFT, BALL),
        (LEFT, LINK_1),
        (RIGHT, BALL),
        (RIGHT, LINK_1),
        (LINK_0, BALL),
        (LINK_1, BALL),
    ],
    np.int64,
)
PAIR_COUNT = len(PAIRS)
PAIR_FRICTION = np.sqrt(FRICTION[PAIRS[:, 0]] * FRICTION[PAIRS[:, 1]])
PAIR_RESTITUTION = np.where(PAIRS[:, 1] == BALL, f32(0.9), f32(0))

# Hinge 0 ties link 0 to the lower wall, hinge 1 ties link 1 to link 0. Anchors lie on the bodies' long axes.
HINGE_A = np.array([BOTTOM, LINK_0], np.int64)
HINGE_B = np.array([LINK_0, LINK_1], np.int64)
ANCHOR_A = np.array([0.0, 0.5], f32)
ANCHOR_B = np.array([-0.5, f32(1.0) - f32(1.4)], f32)
LIMIT = np.array([0.4 * np.pi, 0.9 * np.pi], f32)
MOTOR_TORQUE = f32(100)

# --- Box2D's settings ----------------------------------------------------------------------------------------------------

DT = f32(1.0 / 60.0)
INV_DT = f32(1) / DT
DT_RATIO = INV_DT * DT
VELOCITY_ITERATIONS = 100
POSITION_ITERATIONS = 100
TOI_POSITION_ITERATIONS = 20
LINEAR_SLOP = f32(0.005)
ANGULAR_SLOP = f32(2.0 / 180.0) * f32(3.14159265359)
MAX_LINEAR_CORRECTION = f32(0.2)
MAX_ANGULAR_CORRECTION = f32(8.0 / 180.0) * f32(3.14159265359)
BAUMGARTE = f32(0.2)
TOI_BAUMGARTE = f32(0.75)
VELOCITY_THRESHOLD = f32(1)
MAX_TRANSLATION = f32(2)
MAX_ROTATION = f32(0.5) * f32(3.14159265359)
FATTEN = f32(0.1)
PREDICT = f32(2)
EPSILON = f32(1.1920929e-07)
MAX_SUB_STEPS = 8
TWO_PI = f32(2) * f32(3.14159265359)

ZERO = f32(0)
HALF = f32(0.5)
ONE = f32(1)
THREE = f32(3)
BIG = f32(3.4e38)

FREE, AT_LOWER, AT_UPPER = 0, 1, 2

# --- State -----------------------------------------------------------------------------------------------------------------


class World(NamedTuple):
    """State of the scene; the columns are named below."""

    body: np.ndarray  # (7, 18) float32, a row a body
    contact: np.ndarray  # (9, 5) float32, a row a pair
    point: np.ndarray  # (9, 2, 4) float32, up to two contact points a pair
    tally: np.ndarray  # (9, 8) int64, a row a pair
    hinge: np.ndarray  # (2, 4) float32, a row a hinge
    counts: np.ndarray  # (14,) int64
    backup: np.ndarray  # (7, 11) float32, room to undo a sub-step


# body: pose, the angle's sine and cosine, the same at the start of the sweep, the fraction of the step at which the sweep
# starts, velocity, and the fattened bounding box.
X, Y, ANGLE, SIN, COS, X_0, Y_0, ANGLE_0, SIN_0, COS_0, ALPHA, VX, VY, SPIN = range(14)
LEFT_SIDE, LOWER_SIDE, RIGHT_SIDE, UPPER_SIDE = range(14, 18)
# contact: the manifold in the reference body's frame, and the time of impact (negative if not known).
LOCAL_NX, LOCAL_NY, LOCAL_PX, LOCAL_PY, IMPACT = range(5)
# point: place in the incident body's frame, and the impulses of the step before.
LX, LY, OLD_NORMAL, OLD_TANGENT = range(4)
# tally: when the broad phase found the pair (-1 if it is apart), contact points (0, 1 or 2; touching if not 0), whether the
# second body is the reference, which features meet (to carry impulses over), time-of-impact events of this step, and the
# touching pairs in the order in which they are solved.
BORN, POINTS, ENABLED, FLIPPED, FEATURE_0, FEATURE_1, SUB_STEPS, ORDER = range(8)
# hinge: impulses of the step before.
HINGE_X, HINGE_Y, HINGE_LIMIT, HINGE_MOTOR = range(4)
# counts: births of pairs so far, 1 before the first step, the two hinges' limit states, the number of contacts of the arm's
# island and of both islands, whether the last step took all velocity iterations, and a mark for each body in a sub-step.
CLOCK, FIRST, LIMIT_STATE, LIMIT_STATE_1, ARM_CONTACTS, ALL_CONTACTS, ALL_ITERATIONS, IN_SUB_STEP = range(8)


def new_worlds(lanes: int) -> World:
    """Allocate several worlds; `reset` puts the bodies of one in place."""
    return World(
        np.zeros((lanes, BODIES, 18), f32),
        np.zeros((lanes, PAIR_COUNT, 5), f32),
        np.zeros((lanes, PAIR_COUNT, 2, 4), f32),
        np.zeros((lanes, PAIR_COUNT, 8), np.int64),
        np.zeros((lanes, 2, 4), f32),
        np.zeros((lanes, IN_SUB_STEP + BODIES), np.int64),
        np.zeros((lanes, BODIES, 11), f32),
    )


@compiled
def world_at(worlds, lane):
    return World(
        worlds.body[lane],
        worlds.contact[lane],
        worlds.point[lane],
        worlds.tally[lane],
        worlds.hinge[lane],
        worlds.counts[lane],
        worlds.backup[lane],
    )


@compiled
def face(world, body):
    """Update sine and cosine of the angle; the ball's are not needed."""
    if body != BALL:
        world.body[body, SIN] = math.sin(world.body[body, ANGLE])
        world.body[body, COS] = math.cos(world.body[body, ANGLE])


@compiled
def start_sweep(world, body):
    """Start the sweep of the step at the body's pose."""
    for column in range(5):
        world.body[body, X_0 + column] = world.body[body, X + column]

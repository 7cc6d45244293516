"""The Curling table built with Box2D, for measurements and tests of our solver."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.extras import import_extra

# The original scene has its origin in the table's corner; positions are relative to the centre.
_CENTER = np.float32(1.5)


class Box2DTable:
    """The scene of `stax.tasks.curling`, built with Box2D's Python package and stepped one table at a time."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # The wrapper of Box2D warns about its own types, and crashes if warnings are errors.
            warnings.simplefilter("ignore")
            b2 = import_extra("Box2D", "box2d", "A comparison with Box2D")
        world = b2.b2World(gravity=(0, 0), doSleep=False)
        walls = [
            world.CreateStaticBody(position=position, shapes=b2.b2PolygonShape(box=half))
            for position, half in (
                ((1.5, 0), (1.5, 0.05)),
                ((1.5, 3), (1.5, 0.05)),
                ((0, 1.5), (0.05, 1.5)),
                ((3, 1.5), (0.05, 1.5)),
            )
        ]
        moving: dict[str, Any] = {"bullet": True, "allowSleep": False}
        ball = b2.b2FixtureDef(shape=b2.b2CircleShape(radius=0.15), density=1, friction=0.9, restitution=0.9)
        self._ball = world.CreateDynamicBody(position=(1.0, 1.7), linearDamping=1.1, angularDamping=2, fixtures=ball, **moving)
        links = []
        for y, density in ((0.5, 5), (1.4, 1)):
            link = b2.b2FixtureDef(shape=b2.b2PolygonShape(box=(0.05, 0.5)), density=density, friction=0.9, restitution=0)
            links.append(world.CreateDynamicBody(position=(1.5, y), fixtures=link, **moving))
        self._joints = []
        for body_a, body_b, anchor, limit in (
            (walls[0], links[0], (1.5, 0), 0.4 * np.pi),
            (links[0], links[1], (1.5, 1.0), 0.9 * np.pi),
        ):
            joint = world.CreateRevoluteJoint(
                bodyA=body_a,
                bodyB=body_b,
                anchor=anchor,
                lowerAngle=-limit,
                upperAngle=limit,
                enableLimit=True,
                enableMotor=True,
                maxMotorTorque=100,
            )
            self._joints.append(joint)
        self._world = world

    @property
    def state(self) -> NDArray[np.float64]:
        """Return ball x, y; joint angles; joint speeds."""
        first, second = self._joints
        ball = np.asarray(self._ball.position, np.float32) - _CENTER
        return np.array([ball[0], ball[1], first.angle, second.angle, first.speed, second.speed], np.float64)

    def step(self, action: NDArray[np.float64]) -> None:
        for joint, speed in zip(self._joints, np.clip(action, -1.0, 1.0), strict=True):
            joint.motorSpeed = float(speed)
        self._world.Step(1 / 60, 100, 100)
        self._world.ClearForces()

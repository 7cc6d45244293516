"""The rigid bodies of the Curling table, stepped as Box2D 2.3 steps them.

This is a solver for one scene: four static walls, a ball and a two-link arm whose hinges have motors and limits. It follows the
published structure of Box2D (broad phase with fattened boxes, contact manifolds, sequential impulses with warm starting,
position correction, time-of-impact sub-steps for fast bodies) in the same order of operations and in 32-bit floats, because the
scene amplifies small differences: where a rollout is chaotic, only the same roundings give the same end.

On Linux x86-64 the ends of all recorded rollouts are Box2D's to the last bit; elsewhere the sine of the C library may round
differently. All 100 velocity iterations of Box2D are done for this. An earlier version stopped them once they had converged to
1e-6, and agreed within 0.05 on 96 % of the recorded rollouts. `velocities` makes the iterations affordable.

Bodies are numbered in order of creation, which decides the order in which Box2D visits contacts. Coordinates have their origin
in the table's lower left corner, as in the original scene; `curling.py` shifts them to the table's centre.

Every number is float32, integers aside. A bare `0.5` would silently promote an expression to 64 bits, so constants are made
with `f32`.

| module | holds |
|---|---|
| `scene` | the bodies, their numbers, Box2D's settings, the state of a world |
| `contacts` | which pairs are near, where they touch |
| `velocities` | sequential impulses, for several worlds side by side |
| `positions` | integration and the correction of overlaps |
| `impacts` | time-of-impact sub-steps |
| `stepping` | one step of several worlds |
| `subnormals` | the switch that flushes subnormal numbers to zero |
"""

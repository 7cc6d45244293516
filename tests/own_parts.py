"""Kinds of emitters and schedulers as users write them, for the tests."""

from __future__ import annotations

import numpy as np

from stax import EmitterKind, InvalidInputError, Scheduler


class Widening(EmitterKind):
    """Mutates its best policy, and wider with every generation that brought nothing better."""

    def __init__(self, factor=1.5):
        self.factor = factor

    def ask(self, emitter, rng):
        best = emitter.population.take(np.zeros(emitter.parameters.emitter_population, int))
        before = emitter.memory.get("best", -1.0)
        emitter.memory["failures"] = 0 if emitter.best_reward > before else emitter.memory["failures"] + 1
        emitter.memory["best"] = emitter.best_reward
        step = emitter.sigma * self.factor ** emitter.memory["failures"]
        return best.genome + step * rng.normal(size=best.genome.shape), best.id


class Stubborn(EmitterKind):
    """Gives up after so many generations, and remembers shapes of all kinds."""

    uses_novelty = True

    def start(self, emitter, rng):
        emitter.memory.update(left=30, place=emitter.ancestor.genome[0], table=np.arange(6).reshape(2, 3), nothing=[])
        return super().start(emitter, rng)

    def ask(self, emitter, rng):
        emitter.memory["left"] -= 1
        size = (5, len(emitter.memory["place"]))
        return emitter.memory["place"] + 0.01 * emitter.memory["table"].sum() * rng.normal(size=size), np.repeat(
            emitter.ancestor.id, 5
        )

    def ended_by(self, emitter):
        return "impatience" if emitter.memory["left"] <= 0 else ""


class Dice(Scheduler):
    """Throws a coin."""

    def choose(self, course, rng):
        return ("exploration", "exploitation")[rng.integers(2)]


class Stumbling(Scheduler):
    def choose(self, course, rng):
        return course[-99].phase


class Lost(Scheduler):
    def choose(self, course, rng):
        return "holiday"


class Picky(EmitterKind):
    def fits(self, parameters, genome_size):
        raise InvalidInputError(f"Picky wants genomes of 7 numbers, not {genome_size}.")

    def ask(self, emitter, rng):
        raise AssertionError


class Unmakable(EmitterKind):
    def __init__(self, size):
        self.size = size

    def ask(self, emitter, rng):
        raise AssertionError


class Broken(Widening):
    """Returns what it is made of from one of its methods."""

    def __init__(self, **answers):
        super().__init__()
        for method, answer in answers.items():
            setattr(self, method, lambda *arguments, answer=answer: answer(*arguments) if callable(answer) else answer)


something = 3

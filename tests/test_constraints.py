"""Constraints: what each of them allows, makes of a value, and says."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, replace

import numpy as np
import pytest

from stax import InvalidInputError
from stax.constraints import (
    CheckedParameters,
    Choice,
    CodeName,
    Flag,
    Interval,
    Number,
    OrNone,
    Several,
    WholeNumber,
    parameter,
)

NAN, INFINITY = float("nan"), float("inf")
CASES = [
    (WholeNumber(1), "a whole number of at least 1", [1, 10**400], [0, 1.0, True, "1", None]),
    (WholeNumber(2, 10_000), "a whole number from 2 to 10,000", [2, 10_000], [1, 10_001, 2.0]),
    (Number(0, 1), "a number from 0 to 1", [0.0, 0.5, 1.0], [-1, 1.1, NAN, INFINITY, True, "1", None, 10**400, 1j]),
    (Number(0, 1e30, above=True), "a number above 0 and at most 1e+30", [1e-300, 1e30], [0, 0.0, -1.0, 1e31]),
    (Flag(), "true or false", [True, False], [0, 1, "true", None]),
    (Choice(("a", "b")), "one of 'a', 'b'", ["a", "b"], ["c", "", None, 1, ["a"]]),
    (CodeName(("a",)), "one of 'a', or your own as 'module:name'", ["a", "m:n", "given:X"], ["b", "m:", None, 1]),
    (
        Interval(10),
        "two numbers from -10 to 10",
        [(0.0, 1.0), (-10.0, 10.0)],
        [(1, 0), (0, 0), (0, 11), (0,), 5, "01", (0, NAN)],
    ),
    (Several(WholeNumber(1), 2), "1 to 2 values, each a whole number", [(1,), (1, 1)], [(), (1, 1, 1), (0,), None, "1"]),
    (Several(Choice(("a", "b")), 2, different=True), "1 to 2 different values", [("a",), ("b", "a")], [("a", "a"), "", 1]),
    (OrNone(WholeNumber(1), "all"), "a whole number of at least 1, or none (all)", [None, 1], [0, "none"]),
]


@pytest.mark.parametrize(("constraint", "words", "right", "wrong"), CASES, ids=[case[1] for case in CASES])
def test_each_constraint(constraint, words, right, wrong):
    assert str(constraint).startswith(words)
    for value in right:
        assert constraint.check("It", value) == value
    for value in wrong:
        with pytest.raises(InvalidInputError) as refusal:
            constraint.check("It", value)
        assert str(refusal.value).startswith(f"It must be {words}")


@pytest.mark.parametrize(
    ("constraint", "given", "expected"),
    [
        (WholeNumber(1), np.int64(3), 3),
        (Number(0, 9), 3, 3.0),
        (Flag(), np.bool_(True), True),
        (Interval(9), np.array([1, 2]), (1.0, 2.0)),
        (Several(WholeNumber(1), 3), 4, (4,)),
        (Several(Choice(("a", "b")), 3), " a , b", ("a", "b")),
        (Choice(("a", "none")), None, "none"),
    ],
)
def test_values_get_the_type_that_is_used(constraint, given, expected):
    found = constraint.check("It", given)
    assert (found, type(found)) == (expected, type(expected))


def test_an_object_that_exists_is_valid():
    @dataclass(frozen=True)
    class Settings(CheckedParameters):
        size: int = parameter(3, "how large", WholeNumber(1), "M")

    assert Settings(size=np.int64(4)) == replace(Settings(), size=4)
    assert {name: (entry.about, entry.symbol) for name, entry in Settings.described().items()} == {"size": ("how large", "M")}
    for make in (lambda: Settings(size=0), lambda: replace(Settings(), size=0)):
        with pytest.raises(InvalidInputError, match=r"^Parameter size must be a whole number of at least 1, not 0\.$"):
            make()
    with pytest.raises(FrozenInstanceError):
        Settings().size = 5

"""Names of a user's own code and of objects that were given."""

from __future__ import annotations

import pytest

import own_parts
from stax import EmitterKind, InvalidInputError, Scheduler
from stax.own_code import find_code, make_part, name_of, names_code, names_object, without_objects


def test_names_are_of_one_sort():
    code = ["module:name", "package.module:Class.Inner", "émetteur:Élan"]
    objects = ["given:Widening", "given:test.<locals>.Mine", "given:test.<locals>.<lambda>"]
    neither = ["elitist", "module:", ":name", "a:b:c", "module:1", "a b:c", "given:", "", "a..b:c"]
    assert [name for name in (*code, *objects, *neither) if names_code(name)] == code
    assert [name for name in (*code, *objects, *neither) if names_object(name)] == objects


def test_what_can_be_imported_is_called_so():
    assert name_of(own_parts.Widening) == "own_parts:Widening"
    assert find_code("own_parts:Widening", "The kind") is own_parts.Widening
    assert name_of(own_parts.Widening()) == "given:Widening"

    class Mine(own_parts.Widening): ...

    assert name_of(Mine) == "given:test_what_can_be_imported_is_called_so.<locals>.Mine"
    assert names_object(name_of(Mine))
    assert names_object(name_of(lambda: None))


def test_objects_travel_beside_their_names():
    widening, dice, pair = own_parts.Widening(), own_parts.Dice(), (1, 2)
    named, objects = without_objects({"emitter_kinds": [widening, "cma-es"], "scheduler": dice, "autoencoder": pair, "seed": 3})
    assert named == {
        "emitter_kinds": ("given:Widening", "cma-es"),
        "scheduler": "given:Dice",
        "autoencoder": "given:pair",
        "seed": 3,
    }
    assert objects == {"emitter_kinds": (widening, "cma-es"), "scheduler": dice, "autoencoder": pair}
    assert without_objects({"emitter_kinds": widening})[1] == {"emitter_kinds": (widening,)}
    names = {"emitter_kinds": ["elitist", "m:K"], "scheduler": None, "autoencoder": "auto"}
    assert without_objects(names) == (names, {})


@pytest.mark.parametrize(
    ("given", "base", "sentence"),
    [
        ("given:Widening", EmitterKind, "The part was given as an object"),
        ("no_such_module:X", EmitterKind, "The part names the module 'no_such_module', which cannot be found"),
        ("own_parts:Nobody", EmitterKind, "The part names 'Nobody', which is not in the module 'own_parts'"),
        (own_parts.Dice, EmitterKind, "The part must be a subclass of stax.EmitterKind"),
        (own_parts.Unmakable, EmitterKind, "The part cannot be made: TypeError"),
        (3, Scheduler, "The part must be a subclass of stax.Scheduler, not 3"),
    ],
)
def test_what_is_no_part(given, base, sentence):
    with pytest.raises(InvalidInputError, match=f"^{sentence}"):
        make_part(given, "The part", base)

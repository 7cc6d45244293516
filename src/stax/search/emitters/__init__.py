"""Emitters: one kind a file. To add a kind, write its class in a file of its own and add it to the list below.

The parameter's choices, `stax algos` and the tables of the documentation are derived from that list. `emitter_kind` has the
base class of kinds, `emitter` the state of an emitter, `turn` its turns, `buffer` the emitter buffer (saved by
`emitter_state`), `choice` the choice among kinds, and `own_kind` the checks of a user's own.

- A kind is one object for all emitters of the kind and remembers nothing. What an emitter must remember is in its `memory`,
  numbers that are converted to float64 when they are put in. A user's own kind therefore resumes exactly without any code for
  it, and nothing is pickled.
- Populations of emitters keep no descriptors. The paper's emitter selects by reward alone, so nothing there has to be encoded
  again after training. Kinds that compare by novelty say so (`uses_novelty`), and their populations are described.
- An emitter whose first population failed altogether is retired. One whose population began smaller counts the missing policies
  as the mean of the others, because filling up would otherwise look like an improvement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stax.own_code import make_part
from stax.search.emitters.cma_es import CmaEmitter
from stax.search.emitters.elitist import ElitistEmitter
from stax.search.emitters.emitter_kind import EmitterKind
from stax.search.emitters.novelty import NoveltyEmitter
from stax.search.emitters.sep_cma_es import SeparableCmaEmitter

if TYPE_CHECKING:
    from stax.search.parameters import Parameters

__all__ = ["ABOUT_KINDS", "EMITTER_KINDS", "EmitterKind", "check_built_in_kinds", "make_kinds"]

EMITTER_KINDS: dict[str, type[EmitterKind]] = {
    kind.name: kind for kind in (ElitistEmitter, CmaEmitter, SeparableCmaEmitter, NoveltyEmitter)
}
"""Built-in kinds by their names: the choices of the parameter `emitter_kinds`."""
ABOUT_KINDS = {name: kind.about for name, kind in EMITTER_KINDS.items()}
"""Descriptions of the built-in kinds, for `stax algos` and the parameter."""


def make_kinds(parameters: Parameters, given: Sequence[Any] | None, genome_size: int) -> dict[str, EmitterKind]:
    """Return the kinds of emitters that the parameters name, by name; `given` has them as objects, if any was given so."""
    # Here, because that module needs the parameters, which need the names of the kinds.
    from stax.search.emitters.own_kind import OwnEmitterKind

    kinds: dict[str, EmitterKind] = {}
    for name, part in zip(parameters.emitter_kinds, given or parameters.emitter_kinds, strict=True):
        if name in EMITTER_KINDS:
            kinds[name] = EMITTER_KINDS[name]()
        else:
            own = make_part(part, f"The emitter kind {name!r}", EmitterKind)  # type: ignore[type-abstract]
            kinds[name] = OwnEmitterKind(name, own)
        kinds[name].fits(parameters, genome_size)
    return kinds


def check_built_in_kinds(parameters: Parameters, genome_size: int) -> None:
    """Refuse built-in kinds of emitters that do not work with these parameters; no code of a user's own is imported."""
    for name in parameters.emitter_kinds:
        if name in EMITTER_KINDS:
            EMITTER_KINDS[name]().fits(parameters, genome_size)

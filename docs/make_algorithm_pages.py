"""Writes the parameter table of docs/algorithms/README.md from the parameters themselves: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from stax.cli.algos import word
from stax.search.methods import METHODS
from stax.search.parameters import PRESETS, Parameters, allowed, make_parameters

INDEX = Path(__file__).parent / "algorithms" / "README.md"
BEGIN = '<!-- The parameter table: made by docs/make_algorithm_pages.py ("make docs"); change that, not this. -->'
END = "<!-- End of the parameter table. -->"


def table() -> str:
    """Every parameter: symbol, value per preset, what it is, what is allowed; then the values that belong to a method."""
    values = {preset: make_parameters(preset, {}, {}) for preset in PRESETS}
    titles = ["parameter", "symbol", *(f"`{preset}`" for preset in PRESETS), "what it is", "allowed"]
    lines = [_row(titles), "|---" * len(titles) + "|"]
    for name, what in allowed().items():
        shown = [_shown(name, values[preset]) for preset in PRESETS]
        lines.append(_row([f"`{name}`", what.symbol, *shown, what.about, what.words()]))
    return "\n".join([*lines, "", "Values that belong to a method, whatever the preset:", "", *_own_values()])


def _own_values() -> list[str]:
    owners: dict[tuple[str, Any], list[str]] = {}
    for method in METHODS.values():
        for name, value in method.parameters.items():
            owners.setdefault((name, value), []).append(f"`{method.name}`")
    return [f"- `{name}={word(value)}` in {', '.join(methods)}" for (name, value), methods in owners.items()]


def _shown(name: str, values: Parameters) -> str:
    """A value, in bold where the preset changes that of the paper."""
    value = getattr(values, name)
    return word(value) if value == getattr(Parameters(), name) else f"**{word(value)}**"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def with_table(page: str) -> str:
    """The page with the table between its two marks."""
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{INDEX} has lost one of the two comments that the parameter table lies between.")
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def main() -> int:
    INDEX.write_text(with_table(INDEX.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {INDEX}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

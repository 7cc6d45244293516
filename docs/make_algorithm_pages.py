"""Writes the parameter tables of docs/algorithms/README.md and docs/runs.md from the parameters themselves: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from stax.runs.config import RunSettings, settings_allowed
from stax.search.methods import METHODS
from stax.search.parameters import PRESETS, Parameters, allowed, make_parameters
from stax.wording import setting_text

INDEX = Path(__file__).parent / "algorithms" / "README.md"
RUNS = Path(__file__).parent / "runs.md"
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
    return "\n".join([*lines, "", "Values that belong to a method:", "", *_own_values()])


def _own_values() -> list[str]:
    owners: dict[tuple[str, Any, str], list[str]] = {}
    for method in METHODS.values():
        of_presets = {f" with the preset `{preset}`": values for preset, values in method.preset_parameters.items()}
        for preset, values in {"": method.parameters, **of_presets}.items():
            for name, value in values.items():
                owners.setdefault((name, value, preset), []).append(f"`{method.name}`")
    return [
        f"- `{name}={setting_text(value)}` in {', '.join(methods)}{preset}" for (name, value, preset), methods in owners.items()
    ]


def _shown(name: str, values: Parameters) -> str:
    """A value, in bold where the preset changes that of the paper."""
    value = getattr(values, name)
    return setting_text(value) if value == getattr(Parameters(), name) else f"**{setting_text(value)}**"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def settings_table() -> str:
    """Every setting of a run: its default, what it is, what is allowed."""
    lines = [_row(["parameter", "default", "what it is", "allowed"]), "|---" * 4 + "|"]
    for name, what in settings_allowed().items():
        lines.append(_row([f"`{name}`", setting_text(getattr(RunSettings(), name)), what.about, what.words()]))
    return "\n".join(lines)


def with_table(page: str, made: str) -> str:
    """The page with the table between its two marks."""
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError("The page has lost one of the two comments that its parameter table lies between.")
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


PAGES = {INDEX: table, RUNS: settings_table}


def main() -> int:
    for path, make in PAGES.items():
        path.write_text(with_table(path.read_text(encoding="utf-8"), make()), encoding="utf-8")
        print(f"wrote {path.name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

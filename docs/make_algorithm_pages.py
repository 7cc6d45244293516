"""Update pages from the code (`make docs`): the parameter tables of docs/algorithms/README.md and docs/runs.md, and the line numbers
in docs/algorithms/stax.md."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from stax.run_settings import RunSettings
from stax.search.methods import METHODS
from stax.search.parameters import PRESETS, Parameters, make_parameters
from stax.wording import setting_text

INDEX = Path(__file__).parent / "algorithms" / "README.md"
RUNS = Path(__file__).parent / "runs.md"
BEGIN = '<!-- The parameter table: made by docs/make_algorithm_pages.py ("make docs"); change that, not this. -->'
END = "<!-- End of the parameter table. -->"
BESIDE_THE_CODE = INDEX.parent / "stax.md"
QUOTED_LINE = re.compile(r"\[`([^`]+)`\]\(([^)#]+)#L(\d+)\)")
"""A link to a line of code: the words that it quotes, the file, and the number of the line."""


def table() -> str:
    """Make the table of all parameters of the search, followed by the list of values that belong to a method."""
    values = {preset: make_parameters(preset, {}, {}) for preset in PRESETS}
    titles = ["parameter", "symbol", *(f"`{preset}`" for preset in PRESETS), "what it is", "allowed"]
    lines = [_row(titles), "|---" * len(titles) + "|"]
    for name, description in Parameters.described().items():
        shown = [_shown(name, values[preset]) for preset in PRESETS]
        lines.append(_row([f"`{name}`", description.symbol, *shown, description.about, str(description.constraint)]))
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
    """Return a value in bold where the preset differs from `default`."""
    value = getattr(values, name)
    return setting_text(value) if value == getattr(Parameters(), name) else f"**{setting_text(value)}**"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def settings_table() -> str:
    """Make the table of all settings of a run."""
    lines = [_row(["parameter", "default", "what it is", "allowed"]), "|---" * 4 + "|"]
    for name, description in RunSettings.described().items():
        default = setting_text(getattr(RunSettings(), name))
        lines.append(_row([f"`{name}`", default, description.about, str(description.constraint)]))
    return "\n".join(lines)


def with_table(page: str, made: str) -> str:
    """Return the page with the table between its two marks."""
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"The page lacks one of the comments around its parameter table: {BEGIN!r} and {END!r}.")
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def with_lines(page: str) -> str:
    """Return the page with the numbers of all lines that it quotes; of several such lines, the nearest to the old number counts."""

    def updated(link: re.Match[str]) -> str:
        quoted, file, old = link[1], link[2], int(link[3])
        lines = (INDEX.parent / file).read_text(encoding="utf-8").splitlines()
        found = [number for number, line in enumerate(lines, 1) if quoted in line]
        if not found:
            raise ValueError(f"No line of {file} contains `{quoted}`; change the quotation in {BESIDE_THE_CODE.name}.")
        return f"[`{quoted}`]({file}#L{min(found, key=lambda number: abs(number - old))})"

    return QUOTED_LINE.sub(updated, page)


PAGES = {INDEX: table, RUNS: settings_table}


def main() -> int:
    for path, make in PAGES.items():
        path.write_text(with_table(path.read_text(encoding="utf-8"), make()), encoding="utf-8")
        print(f"wrote {path.name}", file=sys.stderr)
    BESIDE_THE_CODE.write_text(with_lines(BESIDE_THE_CODE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {BESIDE_THE_CODE.name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Make docs/reproduction from its records again, and with it the tables of README.md and docs/reproduce.md that show parts of it.

python docs/make_reproduction.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from stax.cli.main import main as stax

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "reproduction"


def main() -> int:
    """Make all of it."""
    if stax(["reproduce", "all", "--records", str(PAGE / "records"), "--out", str(PAGE), "--quiet"]):
        return 1
    status = [sys.executable, "studies/proof.py", "--out", "docs/reproduction", "--status"]
    table = subprocess.run(status, cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=True).stdout
    _put(PROJECT / "docs" / "reproduce.md", "stages", table)
    _put(PROJECT / "README.md", "the paper's coverage", _given_by_the_paper((PAGE / "README.md").read_text(encoding="utf-8")))
    return 0


def _given_by_the_paper(page: str) -> str:
    """Return the rows of the table of coverage for which the paper gives a figure."""
    table = page.partition("## Coverage\n\n")[2].partition("\n\n")[0].splitlines()
    return "".join(f"{row}\n" for number, row in enumerate(table) if number < 2 or row.split("|")[3].strip())


def _put(path: Path, name: str, table: str) -> None:
    """Put a table between the marks of this name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = path.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{path.name} lacks the marks {begin.strip()} and {end}.")
    path.write_text(before + begin + table + end + after, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

"""`stax record`: the evidence of finished runs, a small file each."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from stax.analysis.recorded import find_run_folders
from stax.analysis.records.making import write_record
from stax.errors import InvalidInputError


def record_command(options: argparse.Namespace) -> Iterator[Path]:
    """Yield the path of every record as soon as it is written; a run that is not finished is refused before the first is."""
    out = Path(options.out)
    if out.exists() and not out.is_dir():
        raise InvalidInputError(f"The output folder {str(out)!r} is a file.")
    runs = find_run_folders(options.dirs)
    for run in runs:
        run.require_finished()
    for run in runs:
        yield write_record(run.path, out, trust=options.trust)

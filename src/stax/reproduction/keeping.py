"""The records that a reproduction keeps of its runs, and the folders that it then no longer needs."""

from __future__ import annotations

import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from stax.analysis.recorded import find_records, identity
from stax.analysis.records.making import write_record
from stax.analysis.records.record import SUFFIX, Record, read_record
from stax.errors import InvalidInputError
from stax.runs.campaign import Campaign, CampaignRun
from stax.runs.reader import RunReader
from stax.runs.status import RunStatus

KEPT = ("all", "records")
"""Choices of what is kept of a finished run: its folder and its record, or only the record."""
FOLDER = "records"
"""Folder of the records of a reproduction."""
_REMOVED = re.compile(r"\.removed\.[0-9a-f]{16}")
"""Names of folders that are being removed."""


class KeptRecords:
    """The records of a reproduction's runs.

    Args:
        out: the folder of the reproduction.
        keep: one of `KEPT`.
    """

    def __init__(self, out: Path, keep: str = "all") -> None:
        self._out, self._keep = out, keep
        self._records: dict[str, Record] | None = None

    def record(self, run: CampaignRun) -> Record | None:
        """Return the record of a run; None if there is none.

        It is found by the run's configuration, since the name of its file depends on the version of the package that made it.
        """
        if self._records is None:
            folder = self._out / FOLDER
            records = find_records(folder) if folder.is_dir() and any(folder.glob(f"*{SUFFIX}")) else []
            self._records = {identity(record.config): record for record in records}
        return self._records.get(identity(run.config))

    def look(self, campaign: Campaign) -> None:
        """Find out how far every run has come: one that has a record is finished, whatever is left of its folder."""
        campaign.look()
        for run in campaign.runs:
            record = self.record(run)
            if record is None:
                continue
            run.status, run.error, run.evaluations = RunStatus.FINISHED, "", record.evaluations
            run.coverage, run.max_reward = record.coverage, record.max_reward
            with suppress(KeyError, TypeError, ValueError):
                run.seconds = float(record.summary["seconds"]["total"])

    def keep(self, run: CampaignRun) -> Record:
        """Write the record of a finished run if there is none, and then remove the run's folder if only records are kept."""
        record = self.record(run)
        if record is None:
            record = read_record(write_record(run.folder.path, self._out / FOLDER))
            assert self._records is not None
            self._records[identity(run.config)] = record
        if self._keep == "records":
            self._remove(run)
        return record

    def try_to_keep(self, run: CampaignRun) -> None:
        """Keep a run while others go on, which must not end for it; what fails is tried again in the end."""
        with suppress(InvalidInputError, OSError):
            self.keep(run)

    def keep_all(self, campaign: Campaign) -> list[Record]:
        """Keep all runs of a campaign, which are finished, and return their records."""
        records = [self.keep(run) for run in campaign.runs]
        if self._keep == "records" and campaign.out.is_dir():
            for leftover in campaign.out.iterdir():
                if _REMOVED.fullmatch(leftover.name) and not leftover.is_symlink():
                    shutil.rmtree(leftover)
        return records

    def _remove(self, run: CampaignRun) -> None:
        """Remove the folder of a run, under another name: a folder of which a part is gone would not be taken for a run's."""
        path = run.folder.path
        if path.is_symlink() or not path.is_dir():
            return
        # Another run is not removed, nor one that is not finished or still in use.
        there = RunReader(path)
        if there.in_use or run.config.differences(there.config) or there.status is not RunStatus.FINISHED:
            return
        removed = path.with_name(f".removed.{secrets.token_hex(8)}")
        path.rename(removed)
        shutil.rmtree(removed)

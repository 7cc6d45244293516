"""Limits of the files in a run folder, the same for writing and for reading.

A folder may come from a stranger, so a reader must not unpack gigabytes out of a small file. A file may unpack to 64 MiB, or to
16 times its size if that is more. What `stax` writes itself keeps within these limits: an array or a part of a ledger that
would be compressed better is not compressed. Tables and lists of emitters have a largest number of cells, and a run that could
exceed it is refused before the first evaluation.
"""

from __future__ import annotations

UNPACKED_BYTES = 64 * 2**20
"""Bytes that a file may unpack to, however small it is."""
UNPACKED_RATIO = 16
"""Times its size that a file may unpack to beyond `UNPACKED_BYTES`."""
SPARSE_RATIO = 64
"""Times its space on the disk that a file of more than `UNPACKED_BYTES` may be long; others have holes in them."""
CSV_BYTES = 48 * 2**20
"""Bytes of a table in CSV format."""
METRIC_CELLS = 1_500_000
"""Cells of the table of metrics, which has a row per chunk."""
EMITTER_CELLS = 1_500_000
"""Cells of the list of emitters."""
STATE_BYTES = 96 * 2**20
"""Bytes of the numbers of a checkpoint, which hold both tables, as JSON."""
STATE_VALUES = 6_500_000
"""Names and values in the numbers of a checkpoint."""
CONFIG_BYTES = 2**20
"""Bytes of a configuration."""
SUMMARY_BYTES = 16 * 2**20
"""Bytes of a summary, which may hold what a task's exceptions say."""
SUMMARY_VALUES = 1_000_000
"""Names and values in a summary."""
CAMPAIGN_BYTES = 16 * 2**20
"""Bytes of the table of a campaign."""
WEIGHTS_BYTES = 2**20
"""Bytes of an autoencoder's file, beside its weights."""
RECORD_BYTES = 2**19
"""Bytes of a record of a run; most have fewer than 100,000."""
RECORD_UNPACKED_BYTES = 2**23
"""Bytes that a record may unpack to."""
RECORD_VALUES = 50_000
"""Names and values in the text of a record."""
RECORD_POLICIES = 30_000
"""Archived policies that a record holds the ends of; of more, a sample."""


def unpacked_limit(size: int) -> int:
    """Return how many bytes a file of this size may unpack to."""
    return max(UNPACKED_BYTES, UNPACKED_RATIO * size)

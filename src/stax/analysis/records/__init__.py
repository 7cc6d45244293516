"""Records: the evidence of a finished run in one small file, to compare runs by when their folders are gone."""

"""Records: the evidence of a finished run in one small file, to compare runs by when their folders are gone.

`record` reads and checks a record, `making` makes it from a folder, `compact` packs curves and points, and `verifying` does
recorded runs again. A record is read and checked completely at once. It is small, so nothing would be gained by reading it in
parts, and no part of a `Record` can turn out to be damaged later. What needs a task or an autoencoder is measured when the
record is made.
"""

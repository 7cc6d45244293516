"""The paper's results made again: the runs that its figures need, the figures, and its claims beside ours."""

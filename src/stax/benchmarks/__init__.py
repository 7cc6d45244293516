"""Measurements of speed, as ratios within one run where a comparison exists."""

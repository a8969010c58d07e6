"""Calibration: weights and thresholds proposed from labelled pairs or review decisions."""

"""What each signal weighs."""

WEIGHTS = {"first": 1.0}

"""A worker with quick reflexes; its arguments are DATABASE MODEL SWEEP STALE."""

from __future__ import annotations

import sys

from infold.service.settings import ServiceSettings
from infold.service.telemetry import configure_logs
from infold.service.worker import run


def main() -> None:
    database, model, sweep, stale = sys.argv[1:]
    configure_logs("info", "text")
    settings = ServiceSettings(database=database, model=(model,) if model else ())
    run(settings, sweep_every=float(sweep), stale=float(stale))

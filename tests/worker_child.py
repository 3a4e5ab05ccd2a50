"""A worker with quick reflexes: `python -m tests.worker_child DATABASE MODEL SWEEP STALE`."""

from __future__ import annotations

import sys

from infold.service.settings import ServiceSettings
from infold.service.telemetry import configure_logs
from infold.service.worker import run

if __name__ == "__main__":
    database, model, sweep, stale = sys.argv[1:]
    configure_logs("info", "text")
    settings = ServiceSettings(database=database, model=(model,) if model else ())
    run(settings, sweep_every=float(sweep), stale=float(stale))

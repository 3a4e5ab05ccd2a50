"""The process that test_model_crash kills: adds numbered messages to a chat that a model folds.

`python -m tests.model_child` reads jobs, one JSON line each, and forks a new process for every one. With a job as
argument it does just that one, and leaves without closing anything; with two, it forks and lets the child do the second.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import tempfile
import traceback
from typing import Any

import openai  # noqa: F401  loaded once, before the first fork

from infold import Memory, Model, failpoints
from infold import conversation as _loaded  # noqa: F401  and everything that folding with a model needs

from .crash_child import say
from .test_model_faults import said


def open_memory(job: dict[str, Any]) -> Memory:
    model = Model("gpt-test", base_url=job["server"], timeout=60) if job["server"] else None
    return Memory(job["url"], model=model)


def write(job: dict[str, Any], memory: Memory) -> None:
    """Add the job's messages and say each one's id once its add has returned."""
    chat = memory.chat("c", preset=job["preset"], context_window=job["window"], wait=job["wait"])
    for number in range(1, job["last"] + 1):
        id = f"{job['prefix']}{number}"
        chat.add(said(number), id=id)
        say(id)


def serve() -> None:
    with tempfile.TemporaryDirectory() as folder:
        warm = {"url": f"sqlite:///{folder}/warm.db", "server": "", "preset": "rolling", "window": 400, "wait": False}
        with open_memory(warm) as memory:
            memory.chat("c").add(said(1))
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid:
            if job["alone"]:
                os.waitpid(pid, 0)
                say("ended")
            continue
        try:
            os.environ["INFOLD_FAILPOINT"] = job["failpoint"]
            importlib.reload(failpoints)  # reads the variable, as a fresh process would
            say(f"pid {os.getpid()}")
            with open_memory(job) as memory:
                write(job, memory)
            say(f"done {job['prefix']}")
        except BaseException:
            say(f"error {json.dumps(traceback.format_exc())}")
        finally:
            os._exit(0)


if __name__ == "__main__":
    jobs = [json.loads(argument) for argument in sys.argv[1:]]
    if len(jobs) == 1:
        write(jobs[0], open_memory(jobs[0]))
    elif jobs:
        with open_memory(jobs[0]) as memory:
            write(jobs[0], memory)
        forked = os.fork()
        if forked:
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]))
        signal.alarm(15)  # a child that hangs must not outlive the test
        with open_memory(jobs[1]) as memory:
            write(jobs[1], memory)
    else:
        serve()

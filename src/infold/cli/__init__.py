"""The `infold` command: the library's operations under the library's names."""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""Exit code of what somebody ends with Ctrl-C, as shells have it."""


def main() -> None:
    """Run the command line; errors are one sentence and an exit code."""
    try:
        _main()
    except KeyboardInterrupt:  # while it starts: afterwards commands end by themselves
        sys.exit(INTERRUPTED)


def _main() -> None:
    from infold.cli.app import app
    from infold.cli.output import fail
    from infold.errors import InfoldError

    try:
        app()
    except InfoldError as error:
        fail(str(error))
    except BrokenPipeError:  # the reader of our output has gone: nothing left to say
        sys.stderr.close()
        sys.exit(141)

"""docs/service.md says what works: every command of it is run, in order, against a real service."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infold.service import problems
from tests.provider import Provider
from tests.servers import start_server

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "service.md").read_text()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_command_works(tmp_path: Path) -> None:
    with Provider() as provider, start_server(tmp_path, upstream=provider.url) as running:
        environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "OPENAI_API_KEY": "one", "ANTHROPIC_API_KEY": "two"}
        ran = 0
        for kind, block in re.findall(r"```(sh|python)\n(.*?)```", TEXT, re.DOTALL):
            text = block.replace("http://127.0.0.1:8765", running.url)
            # With -f curl fails where the answer is an error.
            text = re.sub(r"\bcurl -", "curl -f", text)
            command = [sys.executable, "-c", text] if kind == "python" else ["bash", "-e", "-o", "pipefail", "-c", text]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
            ran += text.count("curl -f") or 1
        assert ran >= 40


def test_every_code_is_listed() -> None:
    source = "".join(path.read_text() for path in sorted((ROOT / "src/infold/service").rglob("*.py")))
    codes = set(re.findall(r'\b[45]\d\d,\s*"([a-z_]+)"', source)) | set(problems._CODES.values())
    table = TEXT[TEXT.index("## Errors") :]
    assert codes
    assert {code for code in codes if f"`{code}`" not in table} == set()

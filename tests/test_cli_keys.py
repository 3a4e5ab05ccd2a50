"""`infold keys`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from infold import Memory
from infold.service.keys import Keyring, create_key, revoke_key
from tests.test_cli import Run, in_folder


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return in_folder(tmp_path, monkeypatch, capfd)


def test_a_key_is_created_listed_and_revoked(run: Run, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'keys.db'}"
    code, out, _ = run("keys", "create", "--tenant", "acme", "--role", "admin", "--name", "laptop", "-d", database)
    assert code == 0
    found = re.search(r"^ink_[\w-]{43}$", out, re.MULTILINE)
    assert found
    key = found[0]
    _, out, _ = run("keys", "list", "-d", database)
    assert "acme" in out
    assert key not in out
    _, out, _ = run("keys", "list", "--json", "-d", database)
    (listed,) = json.loads(out)
    assert (listed["tenant"], listed["role"], listed["name"], listed["revoked_at"]) == ("acme", "admin", "laptop", None)
    with Memory(database) as memory:
        principal = Keyring(memory).find(key)
        assert principal is not None
        assert (principal.tenant, principal.role) == ("acme", "admin")
    code, out, _ = run("keys", "revoke", listed["id"], "-d", database)
    assert code == 0
    with Memory(database) as memory:
        assert Keyring(memory).find(key) is None
    _, out, _ = run("keys", "list", "--json", "-d", database)
    assert json.loads(out)[0]["revoked_at"]


def test_a_key_as_json(run: Run, tmp_path: Path) -> None:
    _, out, _ = run("keys", "create", "--tenant", "acme", "--json", "-d", f"sqlite:///{tmp_path / 'keys.db'}")
    told = json.loads(out)
    assert told["key"].startswith("ink_")
    assert told["role"] == "write"


def test_without_a_tenant_a_key_opens_what_was_made_without_keys(run: Run, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'keys.db'}"
    _, out, _ = run("keys", "create", "--json", "-d", database)
    with Memory(database) as memory:
        principal = Keyring(memory).find(json.loads(out)["key"])
        assert principal is not None
        assert (principal.tenant, principal.role) == ("", "write")


def test_E5_ids_are_listed_whole(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from infold.cli.output import console  # here, as it learns how wide it is when it is first imported: from `run`

    monkeypatch.setattr(console, "_width", 80)
    database = f"sqlite:///{tmp_path / 'keys.db'}"
    with Memory(database) as memory:
        ids = [create_key(memory, "a tenant " * 5, "admin", "a name " * n)[1].id for n in (1, 10)]
        revoke_key(memory, ids[0])
    _, out, _ = run("keys", "list", "-d", database)
    assert all(id in out for id in ids)


def test_what_cannot_be_done(run: Run, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'keys.db'}"
    code, _, err = run("keys", "create", "--tenant", "acme", "--role", "king", "-d", database)
    assert code == 1
    assert "read, write, admin" in err
    code, _, err = run("keys", "create", "--tenant", "a\nb", "-d", database)
    assert code == 1
    code, _, err = run("keys", "revoke", "nope", "-d", database)
    assert code == 1
    assert "infold keys list" in err


def test_no_keys_yet(run: Run, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'keys.db'}"
    Memory(database).close()
    code, out, _ = run("keys", "list", "-d", database)
    assert code == 0
    assert "no keys" in out

"""F9 on PostgreSQL: processes are killed and the database crashes, and nothing is lost, doubled or folded twice."""

from __future__ import annotations

from pathlib import Path

from tests.chaos import Plan, run
from tests.postgres import Server


def test_F9_chaos(postgres: Server, tmp_path: Path) -> None:
    report = run(Plan(turns=100, chats=10, seconds=9.0, kill_every=2.0), postgres, tmp_path)
    told = report.table()
    assert report.wrong == [], told
    assert report.turns == 100, told
    assert report.messages == 220, told
    assert report.crashes == 1, told
    assert report.blackouts == 1, told
    assert report.errors["ConnectError"], told  # somebody found nobody there
    assert report.kills["api"], told
    assert report.kills["worker"], told
    assert set(report.folds) == {"summarizer"}, told

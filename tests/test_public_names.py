"""No public name comes, goes or changes unnoticed: all of them are in the files below `tests/public`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.surface import SURFACES, names

FILES = Path(__file__).parent / "public"
NEW = "INFOLD_NEW_NAMES"


@pytest.mark.parametrize("surface", SURFACES)
def test_public_names(surface: str, tmp_path: Path) -> None:
    file = FILES / f"{surface}.txt"
    found = names(surface, tmp_path)
    assert found, "there are such names"
    if os.environ.get(NEW):
        file.write_text("".join(f"{name}\n" for name in found))
    known = file.read_text().splitlines()
    told = [f"  came: {name}" for name in found if name not in known]
    told += [f"  went: {name}" for name in known if name not in found]
    assert known == found, "\n".join(
        [
            f"the public names are not those of tests/public/{file.name}:",
            *(told or ["  their order"]),
            f"If that is meant: {NEW}=1 pytest tests/test_public_names.py writes the files anew; look at their diff,",
            "and write into CHANGELOG.md what changes for whoever uses a name that went.",
        ]
    )

"""How often people ask for something earlier: python -m bench.asking [--data FILE]

Conversations are put into chats turn by turn, the first speaker as the user; after each of the user's messages in a chat that has
begun to fold, a context is made without a question of its own. Counted is how many of them quote earlier messages. Without a file,
our own conversations are taken; another one is read as bench.recall reads it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.common import Figure, console, report, tracked
from bench.recall_data import OURS, Talk, load
from infold import Memory

WINDOW = 4000


def asked_back(talk: Talk) -> tuple[int, int]:
    """Contexts that were made of folded chats, and those that quote earlier messages."""
    made = quoting = 0
    first = talk.asker or talk.messages[0].speaker
    with Memory("sqlite://") as memory:
        chat = memory.chat("a", context_window=WINDOW)
        for said in talk.messages:
            mine = said.speaker == first
            chat.add({"role": "user" if mine else "assistant", "content": said.text, "created_at": said.at})
            if mine and chat.memory.cursor:
                made += 1
                quoting += bool(chat.context().sources["recalled"])
    return made, quoting


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="conversations of another source")
    options = parser.parse_args()
    talks = load(options.data or OURS)
    found = [asked_back(talks[at]) for at in tracked(range(len(talks)), "conversations", len(talks))]
    made, quoting = (sum(numbers) for numbers in zip(*found, strict=True))
    share = 100 * quoting / max(made, 1)
    if options.data:
        console.print(f"{share:.1f} % of {made:,} turns in folded chats ask for something earlier")
        return
    figures = [Figure("turns in folded chats", made, ""), Figure("that ask for something earlier", share, "%")]
    report("asking", figures, {"conversations": len(talks)})


if __name__ == "__main__":
    main()

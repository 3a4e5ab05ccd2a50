"""What each signal weighs. Written by `python -m bench.recall_fit --write` from our own conversations, bench/talks."""

FIRST = {
    "window": 0.652,
    "session": 0.382,
    "rare words": 1.247,
    "alike": 0.433,
    "window alike": 2.031,
    "session alike": 0.796,
    "meaning": 0.205,
    "window meaning": 0.493,
    "speaker": 1.595,
    "speaker at length": 0.214,
    "time": 1.335,
    "says when": 1.289,
    "says how many": 0.789,
    "says a name": 0.643,
    "length": 0.561,
    "asks": -0.902,
    "answers": 0.584,
    "opens": 0.101,
}
"""Of a first ranking."""

WEIGHTS = {
    "window": 0.112,
    "session": 0.113,
    "rare words": 0.751,
    "alike": 0.319,
    "window alike": 1.322,
    "session alike": 0.387,
    "meaning": 0.203,
    "window meaning": 0.321,
    "speaker": 1.07,
    "speaker at length": 0.234,
    "time": 0.892,
    "says when": 0.878,
    "says how many": 0.521,
    "says a name": 0.368,
    "length": 0.457,
    "asks": -0.727,
    "answers": 0.217,
    "opens": 0.527,
    "two before": 0.254,
    "two after": 0.091,
    "best of session": 0.01,
    "feedback": 0.201,
}
"""Of the last one."""

"""What each signal weighs. Written by `python -m bench.recall_fit --write` from our own conversations, bench/talks."""

WEIGHTS = {
    "first": 0.250,
    "rare words": 1.466,
    "window alike": 1.493,
    "window meaning": 0.279,
    "speaker": 2.256,
    "speaker at length": -0.022,
    "time": 1.140,
    "says when": 1.927,
    "says how many": 1.225,
    "says a name": 0.813,
    "length": 0.906,
    "asks": -1.321,
    "answers": 0.529,
    "opens": 0.447,
    "two before": 0.201,
    "two after": 0.044,
    "best of session": 0.033,
    "feedback": 0.028,
}

"""When to fold and what: `decide` is a pure function of a policy and a chat's situation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from infold.messages import Message
from infold.policy import TRIGGERS, Policy
from infold.units import Unit, answered, trailing, turns, units


@dataclass(frozen=True, slots=True)
class Marks:
    """What the triggers remember between adds."""

    armed: bool = True
    safety: int = 0
    """Number of user messages at the last safety due point."""
    head: int = 0
    """Position of the message whose add triggered the last fold."""
    seen: int = 0
    """Position of the newest message a decision was made after: each one gets one, crash or not."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A chat right after an add, as far as decisions need it."""

    messages: Sequence[Message]
    """The unfolded messages, oldest first."""
    unfolded_tokens: int
    fixed_tokens: int
    """Request overhead, system prompt and tool definitions."""
    memory_tokens: int
    """Memory as the next request shows it."""
    summary_tokens: int
    context_window: int
    records: int
    """Active records."""
    users: int
    """User messages in the chat so far."""
    last_seq: int
    marks: Marks

    @property
    def request_tokens(self) -> int:
        return self.fixed_tokens + self.memory_tokens + self.unfolded_tokens

    @property
    def ratio(self) -> float:
        return self.request_tokens / self.context_window

    @property
    def active(self) -> int:
        """Messages the model sees, the synthetic summary message included."""
        return len(self.messages) + (1 if self.records else 0)

    @property
    def since(self) -> int:
        """Messages after the one that triggered the last fold."""
        return self.last_seq - self.marks.head

    def cooled(self, policy: Policy) -> bool:
        return not self.records or self.since >= policy.cooldown


@dataclass(frozen=True, slots=True)
class Plan:
    """A fold to make: the first `cut` unfolded messages, for a reason. A cut of 0 rewrites memory alone."""

    cut: int
    reason: str


def decide(policy: Policy, now: Situation) -> tuple[Plan | None, Marks]:
    """The fold that is due, if any, and what the triggers must remember. Called after every add."""
    rearmed = now.marks.armed or now.ratio < policy.reset_ratio
    marks = Marks(rearmed, now.marks.safety, now.marks.head, now.last_seq)
    if not policy.enabled:
        return None, marks
    if rearmed != now.marks.armed:
        now = replace(now, marks=marks)
    plan = next((plan for name in policy.triggers if (plan := _TRIGGERS[name](policy, now))), None)
    if plan is None:
        return None, marks
    safety = now.users if "safety" in policy.triggers and _safety_due(policy, now) else marks.safety
    return plan, Marks(armed=False, safety=safety, head=now.last_seq, seen=now.last_seq)


def forced(policy: Policy, now: Situation) -> Plan | None:
    """The plan of a fold somebody asked for; None where the depth guard forbids another record."""
    if policy.max_depth and now.records >= policy.max_depth:
        return None
    cut = _cut_turns(now.messages, policy.keep) if policy.unit == "turn" else _cut_messages(policy, now)
    return Plan(cut, "forced")


def tighter(policy: Policy, now: Situation, plan: Plan, memory_tokens: int) -> Plan | None:
    """A plan that folds more, where the request would still be over its trigger with the memory `plan` makes."""
    if plan.cut == 0 or plan.reason not in ("tokens", "ratio", "emergency", "refresh") or policy.unit != "message":
        return None
    if plan.reason == "tokens":  # rolling: the last unit and the new message stay
        starts = [unit.first for unit in units(now.messages) if unit.first < trailing(now.messages)]
        cuts = [at for at in starts[1:] if at > plan.cut]
    else:  # chain: the tail shrinks, but not below its least
        all_units = units(now.messages)
        keeps = range(policy.keep - 1, policy.min_keep - 1, -1)
        cuts = [cut for keep in keeps if (cut := _older(len(now.messages) - keep, all_units)) > plan.cut]

    def fits(cut: int) -> bool:
        tokens = now.fixed_tokens + memory_tokens + sum(m.tokens for m in now.messages[cut:])
        ratio = tokens / now.context_window
        return ratio <= policy.token_ratio if plan.reason == "tokens" else ratio < policy.trigger_ratio

    if fits(plan.cut) or not cuts:
        return None
    return Plan(next((cut for cut in cuts if fits(cut)), cuts[-1]), plan.reason)


def shares(policy: Policy, context_window: int) -> tuple[int, int]:
    """Tokens kept verbatim and tokens of a chunk, for the `share` trigger."""

    def clamp(share: float, bounds: tuple[int, int]) -> int:
        quarter = context_window // 4
        # A window too small for the lower bound gets a quarter of itself.
        return quarter if bounds[0] > quarter else min(max(int(share * context_window), bounds[0]), bounds[1])

    return clamp(policy.keep_share, policy.keep_range), clamp(policy.chunk_share, policy.chunk_range)


# Where to cut ------------------------------------------------------------------------------------------


def _unit_at(cut: int, all_units: Sequence[Unit]) -> Unit | None:
    """The unit that a cut before position `cut` would split."""
    return next((unit for unit in all_units if unit.first < cut <= unit.last), None)


def _older(cut: int, all_units: Sequence[Unit]) -> int:
    unit = _unit_at(cut, all_units)
    return max(0, unit.first if unit else cut)


def _cut_messages(policy: Policy, now: Situation) -> int:
    """All but the last `keep` messages, moved so that no unit is split."""
    counts_all = "ratio" in policy.triggers  # a chain counts every active message, also the new one
    end = len(now.messages) if counts_all else trailing(now.messages)
    cut = end - policy.keep
    if cut <= 0:
        return 0
    all_units = units(now.messages)
    unit = _unit_at(cut, all_units)
    if unit is None:
        return cut
    sole = unit.last + 1 >= end
    if unit.pending or sole or counts_all or end - unit.first <= policy.keep + policy.buffer:
        return unit.first
    return unit.last + 1


def _cut_turns(messages: Sequence[Message], keep: int) -> int:
    """Everything before the last `keep` complete turns, moved older where a unit crosses the boundary."""
    complete = [turn for turn in turns(messages) if turn.complete]
    return _turn_boundary(messages, [turn.first for turn in complete], len(complete) - keep)


def _turn_boundary(messages: Sequence[Message], starts: Sequence[int], at: int) -> int:
    """Start of complete turn number `at`, or of the nearest older one that splits no unit."""
    if at <= 0:
        return 0
    all_units = units(messages)
    if at >= len(starts):
        ends = [turn.last + 1 for turn in turns(messages) if turn.complete]
        return _older(ends[-1], all_units) if ends else 0
    while at > 0 and _unit_at(starts[at], all_units):
        at -= 1
    return starts[at] if at > 0 else 0


# Triggers ----------------------------------------------------------------------------------------------


def _tokens(policy: Policy, now: Situation) -> Plan | None:
    """Rolling, primary: the whole next request is above the share of the window."""
    if now.ratio <= policy.token_ratio:
        return None
    end = trailing(now.messages)
    starts = [unit.first for unit in units(now.messages) if unit.first < end]
    cut = _cut_messages(policy, now)
    left = now.request_tokens - sum(m.tokens for m in now.messages[:cut])
    # The last unit and the new message stay, whatever their size.
    for at in starts[1:]:
        if at > cut and left / now.context_window > policy.token_ratio:
            left -= sum(m.tokens for m in now.messages[cut:at])
            cut = at
    return Plan(cut, "tokens") if cut else None


def _overflow(policy: Policy, now: Situation) -> Plan | None:
    """Rolling: more than keep + buffer recent messages."""
    if trailing(now.messages) <= policy.keep + policy.buffer:
        return None
    cut = _cut_messages(policy, now)
    return Plan(cut, "overflow") if cut else None


def _safety_due(policy: Policy, now: Situation) -> bool:
    return now.users - now.marks.safety >= policy.safety_turns


def _safety(policy: Policy, now: Situation) -> Plan | None:
    """Rolling: so many user messages since the last safety point; with nothing to fold, memory is rewritten."""
    return Plan(_cut_messages(policy, now), "safety") if _safety_due(policy, now) else None


def _chain_guards(policy: Policy, now: Situation) -> bool:
    return (not policy.max_depth or now.records < policy.max_depth) and now.active >= policy.min_messages


def _chain_plan(policy: Policy, now: Situation, reason: str) -> Plan | None:
    cut = _cut_messages(policy, now)
    return Plan(cut, reason) if cut else None


def _emergency(policy: Policy, now: Situation) -> Plan | None:
    """The next request would not fit the window at all: cooldown and hysteresis do not count."""
    if now.ratio < 1.0:
        return None
    if policy.unit == "turn":
        cut = _cut_turns(now.messages, policy.keep)
        return Plan(cut, "emergency") if cut else None
    return _chain_plan(policy, now, "emergency") if _chain_guards(policy, now) else None


def _ratio(policy: Policy, now: Situation) -> Plan | None:
    """Chain: at the trigger ratio, cooled down, and armed or with enough new messages."""
    if not _chain_guards(policy, now) or now.ratio < policy.trigger_ratio or not now.cooled(policy):
        return None
    if not now.marks.armed and now.since < policy.min_messages:
        return None
    return _chain_plan(policy, now, "ratio")


def _refresh(policy: Policy, now: Situation) -> Plan | None:
    """Chain: so many messages since the last fold, at any ratio."""
    if not policy.refresh_after or now.since < policy.refresh_after or not now.cooled(policy):
        return None
    return _chain_plan(policy, now, "refresh") if _chain_guards(policy, now) else None


def _last_turn_complete(messages: Sequence[Message]) -> bool:
    return bool(messages) and messages[-1].role == "assistant" and answered(messages)


def _chunk(policy: Policy, now: Situation) -> Plan | None:
    """Chunked: summary and unfolded turns exceed the threshold, once the turn is complete."""
    if now.summary_tokens + now.unfolded_tokens <= policy.chunk_tokens or not _last_turn_complete(now.messages):
        return None
    cut = _cut_turns(now.messages, policy.keep)
    return Plan(cut, "chunk") if cut else None


def _batch(policy: Policy, now: Situation) -> Plan | None:
    """Layered: at batch_at complete unfolded turns the oldest `batch` fold."""
    if not _last_turn_complete(now.messages):
        return None
    complete = [turn for turn in turns(now.messages) if turn.complete]
    if len(complete) < policy.batch_at:
        return None
    cut = _turn_boundary(now.messages, [turn.first for turn in complete], policy.batch)
    return Plan(cut, "batch") if cut else None


def _hot_turns(policy: Policy, now: Situation) -> Plan | None:
    """Engine: more complete turns are unfolded than stay hot; all older ones fold."""
    if not _last_turn_complete(now.messages):
        return None
    cut = _cut_turns(now.messages, policy.keep)
    return Plan(cut, "hot_turns") if cut else None


def _share(policy: Policy, now: Situation) -> Plan | None:
    """Default: the unfolded part exceeds the kept share of the window by a chunk."""
    kept, chunk = shares(policy, now.context_window)
    if now.unfolded_tokens <= kept + chunk or not _last_turn_complete(now.messages):
        return None
    complete = [turn for turn in turns(now.messages) if turn.complete]
    starts = [turn.first for turn in complete]
    at = max(0, len(complete) - policy.keep)
    tail = sum(m.tokens for m in now.messages[starts[at] :]) if complete and at < len(starts) else 0
    while at > 0:
        more = sum(m.tokens for m in now.messages[starts[at - 1] : starts[at]])
        if tail + more > kept:
            break
        tail += more
        at -= 1
    cut = _turn_boundary(now.messages, starts, at)
    return Plan(cut, "share") if cut else None


_TRIGGERS: dict[str, Callable[[Policy, Situation], Plan | None]] = {
    "tokens": _tokens,
    "overflow": _overflow,
    "safety": _safety,
    "emergency": _emergency,
    "ratio": _ratio,
    "refresh": _refresh,
    "chunk": _chunk,
    "batch": _batch,
    "hot_turns": _hot_turns,
    "share": _share,
}
assert tuple(_TRIGGERS) == TRIGGERS

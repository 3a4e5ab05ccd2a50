"""Facts: what people state of themselves and their things, and which of it holds. Pure, deterministic."""

from infold.facts.consistency import contradictions, stating
from infold.facts.reading import read
from infold.facts.resolving import resolve
from infold.facts.statements import KINDS, STATUSES, Fact, Saying, Statement, merged

__all__ = ["KINDS", "STATUSES", "Fact", "Saying", "Statement", "contradictions", "merged", "read", "resolve", "stating"]

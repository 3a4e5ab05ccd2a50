"""Curves over the number of folds, as an SVG written by hand: one panel for each measure, one line for each half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

Points = Sequence[tuple[int, float]]
"""Folds, and percent."""

_WIDTH, _HEIGHT = 860, 640
_PANEL = (350, 200)
_LEFT, _TOP, _ACROSS, _DOWN = 60, 96, 410, 272
_COLOURS = {"tuned": "#8a94a6", "unseen": "#c2410c"}
_INK, _PALE = "#1f2937", "#e5e7eb"


@dataclass(frozen=True, slots=True)
class Panel:
    """One measure: its lines by half, and its target for the unseen half."""

    title: str
    lines: Mapping[str, Points]
    target: float
    at_most: bool = False


def chart(title: str, panels: Sequence[Panel]) -> str:
    most = max((folds for panel in panels for line in panel.lines.values() for folds, _ in line), default=1)
    halves = list(dict.fromkeys(half for panel in panels for half in panel.lines))
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        _text(_LEFT, 34, title, size=16, weight="bold"),
        *_legend(halves),
    ]
    for at, panel in enumerate(panels):
        parts += _panel(panel, _LEFT + at % 2 * _ACROSS, _TOP + at // 2 * _DOWN, most)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(halves: Sequence[str]) -> list[str]:
    parts: list[str] = []
    x = _LEFT
    for half in halves:
        parts.append(f'<line x1="{x}" y1="55" x2="{x + 26}" y2="55" stroke="{_COLOURS[half]}" stroke-width="2.5"/>')
        parts.append(f'<circle cx="{x + 13}" cy="55" r="3" fill="{_COLOURS[half]}"/>')
        parts.append(_text(x + 33, 59, f"{half} half"))
        x += 130
    parts.append(f'<line x1="{x}" y1="55" x2="{x + 26}" y2="55" stroke="{_INK}" stroke-dasharray="4 4"/>')
    parts.append(_text(x + 33, 59, "target for the unseen half"))
    return parts


def _panel(panel: Panel, left: int, top: int, most: int) -> list[str]:
    wide, high = _PANEL
    peak = max((value for line in panel.lines.values() for _, value in line), default=0.0)
    full = next(step for step in (20, 40, 60, 100) if step >= peak or step == 100) if panel.at_most else 100

    def x(folds: float) -> float:
        return left + wide * folds / most

    def y(value: float) -> float:
        return top + high * (1 - value / full)

    parts = [_text(left, top - 12, panel.title, size=13, weight="bold")]
    for part in range(5):
        value = full * part / 4
        parts.append(
            f'<line x1="{left}" y1="{y(value):.1f}" x2="{left + wide}" y2="{y(value):.1f}" stroke="{_PALE}" stroke-width="1"/>'
        )
        parts.append(_text(left - 8, y(value) + 4, f"{value:g} %", anchor="end"))
    step = next(s for s in (5, 10, 20, 50, 100) if most / s <= 8)
    for folds in range(0, most + 1, step):
        parts.append(_text(x(folds), top + high + 18, str(folds), anchor="middle"))
    parts.append(_text(left + wide / 2, top + high + 36, "folds", anchor="middle"))
    parts.append(
        f'<line x1="{left}" y1="{y(panel.target):.1f}" x2="{left + wide}" y2="{y(panel.target):.1f}" '
        f'stroke="{_INK}" stroke-dasharray="4 4"/>'
    )
    for half, line in panel.lines.items():
        spots = [(x(folds), y(value)) for folds, value in line]
        joined = " ".join(f"{a:.1f},{b:.1f}" for a, b in spots)
        parts.append(f'<polyline points="{joined}" fill="none" stroke="{_COLOURS[half]}" stroke-width="2.5"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{_COLOURS[half]}"/>' for a, b in spots]
    return parts


def _text(x: float, y: float, words: str, *, size: int = 12, weight: str = "normal", anchor: str = "start") -> str:
    look = f'font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{_INK}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(words)}</text>'

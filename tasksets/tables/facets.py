"""Counts for the filter panel: of each column its values under the *other* columns' filters, and a histogram for numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tasksets.tables.asking import Asked
from tasksets.tables.columns import Column, Summary, counted, summary_of
from tasksets.tables.reading import Table

SHOWN_VALUES = 100
SHOWN_COLUMNS = 40


@dataclass(frozen=True)
class Facet:
    """`values` are (text or None for no value, count), the most frequent of the version first, also those that the other filters leave
    none of; `bins` are (least, most, count). `distinct` counts all texts, or those that hold what is looked for."""

    name: str
    is_numbers: bool
    distinct: int
    values: Sequence[tuple[str | None, int]]
    bins: Sequence[tuple[float, float, int]]


@dataclass(frozen=True)
class Facets:
    """`total` is what all filters leave; `more` are the columns that were not counted."""

    total: int
    facets: Sequence[Facet]
    more: Sequence[str]


def count_facets(table: Table, asked: Asked, *, names: Sequence[str] = (), facet_q: str = "") -> Facets:
    """Of the columns named (full names), else of the first forty and of all that are filtered by."""
    known = table.names()
    chosen = {one.name: one.includes | one.excludes for one in asked.filters if one.name in known}
    shown = [name for name in known if name in names] if names else list(dict.fromkeys([*known[:SHOWN_COLUMNS], *chosen]))
    found, everywhere = table.columns(shown), table.mask(asked)
    facets = []
    for name in shown:
        mask = table.mask(asked.without(name)) if name in chosen else everywhere
        facets.append(_facet(name, found[name], _summary(table, name, chosen.get(name, ()), facet_q), mask))
    total = table.row_count if everywhere is None else everywhere.count(1)
    return Facets(total, facets, [name for name in known if name not in shown])


def _summary(table: Table, name: str, chosen: Collection[str | None], facet_q: str) -> Summary:
    """The chosen texts are among the first whatever their number; where they are anyway, one summary does for all."""
    plain = table.summary(name, SHOWN_VALUES)
    if not facet_q and all(text in plain.texts for text in chosen):
        return plain
    return summary_of(table.columns([name])[name], shown=SHOWN_VALUES, holds=facet_q, first=chosen)


def _facet(name: str, column: Column, summary: Summary, mask: bytes | None) -> Facet:
    counts = summary.totals if mask is None else counted(column, summary.slots, len(summary.texts), mask)
    edges = list(pairwise(summary.edges))
    heights = counted(column, summary.bin_of, len(edges), mask) if edges else []
    bins = [(least, most, height) for (least, most), height in zip(edges, heights, strict=True)]
    return Facet(name, column.is_numbers, summary.distinct, list(zip(summary.texts, counts, strict=True)), bins)

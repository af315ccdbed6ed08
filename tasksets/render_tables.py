"""Counts of a table as wire objects."""

from __future__ import annotations

from proctor.wire.tables import FacetBin, FacetOut, FacetsOut, FacetValue
from tasksets.tables.facets import Facet, Facets


def render_facets(found: Facets) -> FacetsOut:
    return FacetsOut(total=found.total, facets=[_facet(one) for one in found.facets], more=list(found.more))


def _facet(one: Facet) -> FacetOut:
    values = [FacetValue(text=text, count=count) for text, count in one.values]
    bins = [FacetBin(least=least, most=most, count=count) for least, most, count in one.bins]
    return FacetOut(column=one.name, kind="numbers" if one.is_numbers else "values", distinct=one.distinct, values=values, bins=bins)

"""Counts of a taskset's table, as the native API gives them."""

from typing import Literal

from pydantic import Field

from .base import WireOut


class FacetValue(WireOut):
    text: str | None = Field(description="As a filter names it, cut at 200 characters; null: no value.")
    count: int = Field(description="Tasks with it that the search and the filters of the other columns leave.")


class FacetBin(WireOut):
    """Numbers from `least` up to `most`, in the last one with it."""

    least: float
    most: float
    count: int


class FacetOut(WireOut):
    column: str = Field(description="`env`, `task_id` or `columns.<name>`.")
    kind: Literal["values", "numbers"]
    distinct: int = Field(description="How many texts there are in the version, under `facet_q`.")
    values: list[FacetValue] = Field(description="The hundred most frequent of the version, whatever the filters.")
    bins: list[FacetBin] = Field(description="Of numbers.")


class FacetsOut(WireOut):
    total: int = Field(description="Tasks that the search and all filters leave.")
    facets: list[FacetOut]
    more: list[str] = Field(description="Columns that were not counted; ask for them with `column=`.")

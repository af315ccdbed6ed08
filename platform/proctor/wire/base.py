"""What every wire model shares: strict input, the page envelope, JSON kept as text."""

from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")

RawJson = Annotated[str, Field(description="JSON as text, kept exactly as given (digits, key order).", examples=['{"n": 1.10}'])]


class WireIn(BaseModel):
    """A request body: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class WireOut(BaseModel):
    """A reply: clients ignore keys they do not know."""

    model_config = ConfigDict(extra="ignore")


class Page(WireOut, Generic[T]):
    """One page of a keyset listing, newest or first first."""

    items: list[T]
    next_cursor: str | None = Field(default=None, description="Pass as `cursor` for the next page; null on the last.")
    total: int | None = Field(default=None, description="How many there are in all, where that is cheap to know.")

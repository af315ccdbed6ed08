"""Model endpoints: where a model name is served, and with which key."""

from datetime import datetime

from pydantic import Field

from .base import WireIn, WireOut


class ModelEndpointIn(WireIn):
    pattern: str = Field(min_length=1, max_length=200, description="A model name, or a pattern with `*` such as `gpt-*`. An exact name wins over a pattern.")
    base_url: str = Field(min_length=1, max_length=1000, description="Origin and path up to, not including, `/chat/completions`.")
    api_key: str = Field(default="", max_length=1000, description="Kept encrypted; never given back.")
    headers: dict[str, str] = Field(default={}, description="Extra headers; values are kept encrypted and never given back.")


class ModelEndpointOut(WireOut):
    id: str
    pattern: str
    base_url: str
    has_key: bool
    header_names: list[str]
    created_at: datetime
    created_by: str | None

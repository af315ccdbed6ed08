"""Share links: public and read-only, shown once, revocable."""

from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, Field

from .base import WireIn, WireOut

ShareState = Literal["live", "expired", "revoked"]


class ShareIn(WireIn):
    kind: str = Field(description="What is shared; today `taskset`.")
    reference: str = Field(min_length=1, max_length=500, description="`name` follows the newest version; `name@3`, `name@tag` show that version for good.")
    expires_at: AwareDatetime | None = None


class ShareOut(WireOut):
    id: str
    kind: str
    reference: str = Field(description="As it was when the link was made.")
    title: str
    pinned: bool = Field(description="It shows one version for good; otherwise the newest.")
    state: ShareState
    created_by: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class ShareMade(ShareOut):
    url: str = Field(description="The link. Shown this once: only its hash is kept.")


class SharedTaskset(WireOut):
    """What a visitor sees of a shared taskset. Names of people are not in it."""

    kind: Literal["taskset"] = "taskset"
    name: str
    title: str
    version_number: int | None = Field(description="Null while the set never held a task.")
    digest: str | None
    task_count: int
    environments: list[str]
    made_at: datetime | None = Field(description="When this version was made.")
    pinned: bool
    expires_at: datetime | None

"""The caller: for which team a request acts, as whom, and what it may do. Frozen values, no queries."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from web.errors import forbidden

SCOPES_OF_ROLE = {
    "owner": frozenset({"read", "write", "run", "admin"}),
    "admin": frozenset({"read", "write", "run", "admin"}),
    "member": frozenset({"read", "write", "run"}),
    "viewer": frozenset({"read"}),
}
ALL_SCOPES = SCOPES_OF_ROLE["owner"]


@dataclass(frozen=True)
class Caller:
    """`run_id` and `attempt` are set for a run's own token, which may do nothing but what that run needs."""

    team_id: uuid.UUID
    user_id: uuid.UUID | None
    label: str
    scopes: frozenset[str] = field(default_factory=frozenset)
    role: str = "member"
    is_instance_admin: bool = False
    key_id: uuid.UUID | None = None
    run_id: uuid.UUID | None = None
    attempt: int = 0

    is_authenticated = True

    def require(self, scope: str) -> None:
        """Raises AppError 403, naming the scope."""
        if scope not in self.scopes:
            raise forbidden(f"This needs the scope '{scope}', which {self.label} does not have")


def platform_caller(team_id: uuid.UUID) -> Caller:
    """The platform itself, acting inside one team (sample job, sweeps)."""
    return Caller(team_id=team_id, user_id=None, label="platform", scopes=ALL_SCOPES, role="owner")

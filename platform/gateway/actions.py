"""Every write about model endpoints: caller first, checked, audited without secrets."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping

from django.db import IntegrityError, transaction

from accounts.audit import audit
from accounts.callers import Caller
from gateway.addresses import ADMIN_RULE, leads_inside, url_problem
from gateway.models import ModelEndpoint
from gateway.queries import get_endpoint
from proctor.wire.errors import Problem
from web.crypto import encrypt, encrypt_map
from web.errors import AppError, invalid, problem

TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
VISIBLE = re.compile(r"[\x20-\x7e]*")
REFUSED_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "te", "trailer", "cookie", "accept-encoding"}
)


def create_endpoint(
    caller: Caller, *, pattern: str, base_url: str, api_key: str = "", headers: Mapping[str, str] | None = None
) -> ModelEndpoint:
    """Raises AppError 422 with every problem, 409 when the team has this pattern already."""
    caller.require("write")
    headers = dict(headers or {})
    problems = [*_pattern_problems(pattern), *_url_problems(caller, base_url), *_secret_problems(api_key, headers)]
    if problems:
        raise invalid(problems)
    try:
        with transaction.atomic():
            endpoint = ModelEndpoint.objects.create(
                team_id=caller.team_id, pattern=pattern, base_url=base_url.rstrip("/"), api_key_encrypted=encrypt(api_key) if api_key else "",
                headers_encrypted=encrypt_map(headers) if headers else "", header_names=sorted(headers),
                by_instance_admin=may_lead_inside(caller), created_by=caller.label,
            )  # fmt: skip
            audit(
                caller,
                "model.create",
                "model_endpoint",
                endpoint.id,
                pattern=pattern,
                base_url=endpoint.base_url,
                has_key=bool(api_key),
                headers=sorted(headers),
            )
    except IntegrityError:
        raise AppError("pattern_taken", 409, f"There is a model endpoint for {pattern} already; delete it first", pattern=pattern) from None
    return endpoint


def delete_endpoint(caller: Caller, endpoint_id: uuid.UUID) -> None:
    """Raises AppError 404. Runs that were given this endpoint fail when they come to use it."""
    caller.require("write")
    with transaction.atomic():
        endpoint = get_endpoint(caller, endpoint_id)
        audit(caller, "model.delete", "model_endpoint", endpoint.id, pattern=endpoint.pattern, base_url=endpoint.base_url)
        endpoint.delete()


def endpoint_from_text(caller: Caller, text: str) -> ModelEndpoint:
    """From `pattern|url|key` (PROCTOR_MODEL_ENDPOINT). The key may be left out. Raises AppError 422, 409."""
    pattern, _, rest = text.partition("|")
    base_url, _, api_key = rest.partition("|")
    if not rest:
        raise invalid([problem("PROCTOR_MODEL_ENDPOINT", "must read pattern|url|key")])
    return create_endpoint(caller, pattern=pattern.strip(), base_url=base_url.strip(), api_key=api_key.strip())


def _pattern_problems(pattern: str) -> list[Problem]:
    good = 0 < len(pattern) <= 200 and pattern == pattern.strip() and pattern.isprintable()
    return [] if good else [problem("pattern", "must be 1-200 printable characters without white space at the ends", pattern)]


def may_lead_inside(caller: Caller) -> bool:
    """Only an instance admin with the whole of their rights: a key of theirs without the admin scope may not."""
    return caller.is_instance_admin and "admin" in caller.scopes


def _url_problems(caller: Caller, base_url: str) -> list[Problem]:
    """The URL's text is shown back only when it holds no password."""
    rule = url_problem(base_url)
    if rule is not None:
        return [problem("base_url", rule)]
    if not may_lead_inside(caller) and leads_inside(base_url):
        return [problem("base_url", ADMIN_RULE, base_url)]
    return []


def _secret_problems(api_key: str, headers: Mapping[str, str]) -> list[Problem]:
    """Values are never shown back."""
    found = (
        []
        if VISIBLE.fullmatch(api_key) and api_key == api_key.strip()
        else [problem("api_key", "must be printable ASCII without white space at the ends")]
    )
    if len(headers) > 50:
        found.append(problem("headers", "must be at most 50"))
    for name, value in headers.items():
        if not TOKEN.fullmatch(name) or name.lower() in REFUSED_HEADERS:
            found.append(problem(f"headers.{name[:100]}", "is not a header that may be set"))
        elif not VISIBLE.fullmatch(value) or value != value.strip() or len(value) > 4_000:
            found.append(problem(f"headers.{name}", "must be printable ASCII, at most 4,000 characters, without white space at the ends"))
    return found

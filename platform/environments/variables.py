"""An environment's variables: what every sandbox of it gets besides its image. Encrypted at rest; names are shown, values never.

Set by the page, the API and `hud deploy` (which upserts: what is not named stays).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import Caller
from environments.models import Environment, EnvironmentVariable
from proctor.wire.errors import Problem
from web.crypto import decrypt, encrypt
from web.errors import invalid, not_found, problem

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
MAX_VALUE, MAX_VARIABLES = 32 * 1024, 200


def set_variables(caller: Caller, environment: Environment, values: Mapping[str, str]) -> None:
    """Adds and replaces. Raises AppError 403, 422 with every problem."""
    caller.require("write")
    encrypted = {name: encrypt(value) for name, value in values.items()}
    with transaction.atomic():
        Environment.objects.select_for_update().get(id=environment.id)
        known = set(environment.variables.values_list("name", flat=True))
        refuse(problems_of(values, known))
        for name, value in encrypted.items():
            how = {"value_encrypted": value, "updated_by": caller.label, "updated_at": timezone.now()}
            EnvironmentVariable.objects.update_or_create(environment=environment, name=name, defaults=how)
        if values:
            audit(caller, "environment.variables", "environment", environment.id, names=sorted(values))


def remove_variable(caller: Caller, environment: Environment, name: str) -> None:
    """Raises AppError 403, 404."""
    caller.require("write")
    with transaction.atomic():
        if not environment.variables.filter(name=name).delete()[0]:
            raise not_found(f"Variable {name[:100]}")
        audit(caller, "environment.variable_removed", "environment", environment.id, name=name)


def problems_of(values: Mapping[str, str], known: set[str] | frozenset[str] = frozenset(), field: str = "variables") -> list[Problem]:
    """What is wrong with the names and values given; values are never repeated."""
    found = [problem(f"{field}.{name[:100]}", "a name has letters, digits and _, does not begin with a digit, and at most 255 of them") for name in values if not NAME.fullmatch(name)]
    for name, value in values.items():
        if len(value) > MAX_VALUE or "\0" in value:
            found.append(problem(f"{field}.{name[:100]}", f"a value has at most {MAX_VALUE:,} characters and no NUL"))
    if len(known | set(values)) > MAX_VARIABLES:
        found.append(problem(field, f"at most {MAX_VARIABLES}"))
    return found


def refuse(problems: list[Problem]) -> None:
    if problems:
        raise invalid(problems)


def find_variables(environment: Environment) -> QuerySet[EnvironmentVariable]:
    """By name, without values."""
    return environment.variables.defer("value_encrypted").order_by("name")


def values_of(environment_id: uuid.UUID) -> dict[str, str]:
    """For the platform alone, which starts sandboxes. Raises RuntimeError when the encryption key was lost."""
    rows = EnvironmentVariable.objects.filter(environment_id=environment_id).values_list("name", "value_encrypted")
    return {name: decrypt(value) for name, value in rows}

"""A model field for JSON whose key order means something: PostgreSQL's own JSON type sorts keys, text keeps them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.db import models


class OrderedJson(models.TextField):  # type: ignore[type-arg]
    """JSON values, kept as text. Not for queries inside the value."""

    if TYPE_CHECKING:  # what django-stubs reads
        _pyi_private_set_type: Any
        _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else json.loads(value)

    def to_python(self, value: Any) -> Any:
        return value

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else json.dumps(value)

    def deconstruct(self) -> Any:
        """Migrations know it as the text it is, and import nothing of ours."""
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs

"""Writes the wire models as an OpenAPI document with components only, for the page's TypeScript types.

`python scripts/wire_schema.py` → frontend/src/api/wire.schema.json; `npm run types` makes wire.d.ts of it. Bodies are
described as a client may send them (defaults optional), replies as the server sends them (every field there).
"""

import importlib
import json
import pkgutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "platform"))

from pydantic import BaseModel  # noqa: E402
from pydantic.json_schema import GenerateJsonSchema, models_json_schema  # noqa: E402

import proctor.wire  # noqa: E402
from proctor.wire.base import Page, WireIn  # noqa: E402

TARGET = ROOT / "frontend" / "src" / "api" / "wire.schema.json"


class RepliesWhole(GenerateJsonSchema):
    """A reply carries its defaults too, so every field of it is required."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return self.mode == "serialization" or super().field_is_required(field, total)


def wire_models() -> list[type[BaseModel]]:
    """Every concrete model of `proctor.wire`, in the order of module and source."""
    found: list[type[BaseModel]] = []
    for info in pkgutil.iter_modules(proctor.wire.__path__):
        module = importlib.import_module(f"proctor.wire.{info.name}")
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module.__name__ and value is not Page
        ]
    return [model for model in found if model.__name__ not in {"WireIn", "WireOut"}]


def document() -> dict[str, object]:
    modes = [(model, "validation" if issubclass(model, WireIn) else "serialization") for model in wire_models()]
    _, schema = models_json_schema(modes, ref_template="#/components/schemas/{model}", schema_generator=RepliesWhole)  # type: ignore[arg-type]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Proctor wire models", "version": "1"},
        "paths": {},
        "components": {"schemas": schema["$defs"]},
    }


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(json.dumps(document(), indent=1, sort_keys=True) + "\n")

"""Pydantic wire models inside drf-spectacular's schema, which then covers `/api` alone (HUD's surface is not ours to describe)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.utils import Direction
from pydantic import BaseModel
from pydantic.json_schema import model_json_schema


class PydanticExtension(OpenApiSerializerExtension):
    """After the blueprint in drf-spectacular's documentation: a wire model becomes a component, its parts components too."""

    target_class = "pydantic.BaseModel"
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        set_override(self.target, "suppress_collision_warning", True)
        return _component_name(self.target.__name__)

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        model: type[BaseModel] = self.target
        schema = model_json_schema(model, ref_template="#/components/schemas/{model}", mode="serialization" if direction == "response" else "validation")
        for name, definition in schema.pop("$defs", {}).items():
            component = ResolvedComponent(name=_component_name(name), type=ResolvedComponent.SCHEMA, object=name, schema=definition)
            if component in auto_schema.registry:
                continue
            auto_schema.registry.register(component)
        return schema


def _component_name(name: str) -> str:
    return name.replace("[", "_").replace("]", "")


def only_native(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    return [endpoint for endpoint in endpoints if endpoint[0].startswith(("/api/", "/auth/"))]

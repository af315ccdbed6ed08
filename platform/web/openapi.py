"""The OpenAPI description of the native API: wire models as components, one operation id a view and method, HUD's surface left out."""

from __future__ import annotations

from typing import Any

from drf_spectacular.contrib.pydantic import PydanticExtension
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction


class WireExtension(PydanticExtension):
    """`Page[TaskRow]` becomes the component `Page_TaskRow`: brackets are no legal name."""

    priority = 1

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        name: str = super().get_name(auto_schema, direction)
        return name.replace("[", "_").replace("]", "")


class BearerScheme(OpenApiAuthenticationExtension):
    target_class = "accounts.authentication.BearerAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "An API key."}


class PageScheme(OpenApiAuthenticationExtension):
    target_class = "accounts.authentication.PageAuthentication"
    name = "page"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "apiKey", "in": "cookie", "name": "proctor_session", "description": "The page's session, with X-CSRFToken on writes."}


class NativeSchema(AutoSchema):
    def get_operation_id(self) -> str:
        view = getattr(self.view, "__name__", None) or type(self.view).__name__
        room = type(self.view).__module__.split(".")[0]
        return f"{self.method.lower()}_{room}_{view}"


def only_native(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    return [endpoint for endpoint in endpoints if endpoint[0].startswith(("/api/", "/auth/"))]

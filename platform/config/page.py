"""The built page's shell, and the readable page of the API: both static files, no template."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

NOT_BUILT = (
    "<!doctype html><html lang=en><title>Proctor</title><h1>The page is not built yet</h1>"
    "<p>The API is up. Build the page with <code>make page</code> (needs Node 20), then reload.</p>"
)


def index(request: HttpRequest) -> HttpResponse:
    path = Path(settings.ROOT) / "frontend" / "dist" / "index.html"
    body = path.read_bytes() if path.exists() else NOT_BUILT.encode()
    return HttpResponse(body, content_type="text/html; charset=utf-8", headers={"Cache-Control": "no-cache"})


def api_docs(request: HttpRequest) -> HttpResponse:
    """`/api/schema` as one plain page: every call with its parameters, body and replies."""
    from drf_spectacular.generators import SchemaGenerator

    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    calls = [_call(path, method, operation) for path, methods in sorted(schema["paths"].items()) for method, operation in methods.items()]
    models = [f"<section><h3 id='{escape(name)}'>{escape(name)}</h3><pre>{escape(json.dumps(model, indent=2))}</pre></section>" for name, model in sorted(schema["components"]["schemas"].items())]
    title = "<!doctype html><html lang=en><meta name=viewport content='width=device-width'><title>API · Proctor</title><h1>The native REST API</h1><p>OpenAPI 3.1: <a href=/api/schema>/api/schema</a></p>"
    return HttpResponse(f"{title}<main>{''.join(calls)}<h2>Models</h2>{''.join(models)}</main>")


def _call(path: str, method: str, operation: dict[str, Any]) -> str:
    refs = sorted({ref.rsplit("/", 1)[1] for ref in _refs(operation)})
    links = ", ".join(f"<a href='#{escape(ref)}'>{escape(ref)}</a>" for ref in refs)
    return f"<section><h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation.get('description', ''))}</p><p>{links}</p></section>"


def _refs(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [ref for inner in value.values() for ref in _refs(inner)]
    return [ref for inner in value for ref in _refs(inner)] if isinstance(value, list) else []

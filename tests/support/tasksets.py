"""Calls of the taskset endpoints, as tests of several areas make them."""

from __future__ import annotations

import json
from typing import Any

from asgiref.sync import async_to_sync
from django.test import Client


def body_of(response: Any) -> bytes:
    """The whole body, streamed or not."""

    async def collect() -> bytes:
        return b"".join([block async for block in response])

    return bytes(async_to_sync(collect)() if response.streaming else response.content)


class Api:
    """A client that holds one key. Bodies may be given as exact bytes."""

    def __init__(self, key: str) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {key}"})

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def head(self, path: str, **headers: str) -> Any:
        return self.client.head(path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def send(self, path: str, body: Any, method: str = "POST") -> Any:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.generic(method, path, data, content_type="application/json")

    def upload(self, name: str, *rows: Any, **more: Any) -> Any:
        return self.send("/v2/tasks/upload", {"taskset_name": name, "tasks": list(rows), **more})

    def export(self, ref: str) -> Any:
        return json.loads(body_of(self.get(f"/api/tasksets/{ref}/export")))

    def slugs(self, ref: str) -> list[str]:
        return [row["name"] for row in self.export(ref)["tasks"]]


def row(slug: str, env: str = "letters", task_id: str = "count", **more: Any) -> dict[str, Any]:
    return {"name": slug, "env": {"name": env}, "task_id": task_id, **more}

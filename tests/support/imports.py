"""Calls of the import endpoints, as tests make them."""

from __future__ import annotations

import json
from typing import Any

from tasksets.imports.worker import process_one
from tests.support.tasksets import Api


class Imports(Api):
    """A client that brings files in."""

    def put(self, path: str, body: bytes, **query: Any) -> Any:
        return self.client.generic("PUT", path, body, content_type="application/octet-stream", query_params=query)

    def file(self, body: bytes, name: str, part: int = 8 * 1024**2) -> str:
        made = self.send("/api/uploads", {"filename": name, "size_bytes": len(body)})
        assert made.status_code == 201, made.content
        upload_id: str = made.json()["id"]
        for offset in range(0, len(body), part):
            sent = self.put(f"/api/uploads/{upload_id}", body[offset : offset + part], offset=offset)
            assert sent.status_code == 200, sent.content
        return upload_id

    def begin(self, body: bytes, filename: str, **more: Any) -> dict[str, Any]:
        if "taskset" not in more and "name" not in more:
            more["name"] = "s"
        made = self.send("/api/imports", {"upload_id": self.file(body, filename), **more})
        assert made.status_code == 201, made.content
        return dict(made.json())

    def check(self, found: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """With the guess, and these changes of it; a worker does what is left to it."""
        mapping = {**found["guess"], **changes}
        done = self.send(f"/api/imports/{found['id']}/mapping", mapping, "PUT")
        assert done.status_code == 200, done.content
        while process_one("worker-1"):
            pass
        return self.seen(found)

    def seen(self, found: dict[str, Any]) -> dict[str, Any]:
        return dict(self.get(f"/api/imports/{found['id']}").json())

    def commit(self, found: dict[str, Any], **body: Any) -> Any:
        return self.send(f"/api/imports/{found['id']}/commit", body)

    def bring(self, body: bytes, filename: str, mode: str = "merge", **more: Any) -> dict[str, Any]:
        """From bytes to a version."""
        changes = more.pop("changes", {"env": {"column": None, "constant": "zoo"}})
        found = self.begin(body, filename, **more)
        if found["layout"] == "tasks":
            changes = {}
        checked = self.check(found, **changes)
        assert (checked["status"], checked["errors_total"]) == ("checked", 0), checked
        done = self.commit(checked, mode=mode)
        assert done.status_code == 200, done.content
        return dict(done.json())

    def errors(self, found: dict[str, Any]) -> list[dict[str, Any]]:
        items, cursor = [], ""
        while True:
            page = self.get(f"/api/imports/{found['id']}/errors?limit=3&cursor={cursor}").json()
            items += page["items"]
            cursor = page["next_cursor"]
            if not cursor:
                return items


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)

"""Analyses as a worker makes them, and environments with a manifest to check against."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from environments.models import Environment, EnvironmentVersion
from tasksets.analysis import claims
from tasksets.analysis.worker import process_one
from tests.support.tasksets import Api

LETTERS = {"type": "object", "properties": {"word": {"type": "string"}, "n": {"type": "integer", "minimum": 1}}, "required": ["word"]}


def know(team_id: uuid.UUID, name: str = "letters", number: int = 1, **templates: Any) -> EnvironmentVersion:
    """The environment with a ready version; without templates, it has `count` alone."""
    environment, _made = Environment.objects.get_or_create(team_id=team_id, name=name, defaults={"title": name})
    listed = [{"id": id, "description": "", "args": schema} for id, schema in (templates or {"count": LETTERS}).items()]
    return EnvironmentVersion.objects.create(
        environment=environment, number=number, status="ready", source="image", manifest={"templates": listed, "capabilities": []}, ready_at=timezone.now()
    )  # fmt: skip


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads are analysed without the quiet time."""
    monkeypatch.setattr(claims, "QUIET", timedelta(0))


def work() -> int:
    """What a worker does until nothing waits; how many analyses that were."""
    count = 0
    while process_one("worker-1"):
        count += 1
    return count


class Analyses(Api):
    def analysis(self, ref: str = "s") -> dict[str, Any]:
        return dict(self.get(f"/api/tasksets/{ref}/analysis").json())

    def checks(self, ref: str = "s") -> list[tuple[str, str, str]]:
        page = self.get(f"/api/tasksets/{ref}/checks").json()
        return [(one["slug"], one["path"], one["rule"]) for one in page["items"]]

    def pairs(self, ref: str = "s", kind: str = "") -> list[tuple[str, str, str, float]]:
        items = self.get(f"/api/tasksets/{ref}/analysis/duplicates?kind={kind}").json()["items"]
        return [(one["kind"], one["slug"], one["other"], one["jaccard"]) for one in items]

    def leaks(self, ref: str = "s") -> list[tuple[str, str, str]]:
        items = self.get(f"/api/tasksets/{ref}/analysis/leaks").json()["items"]
        return [(one["slug"], one["answer_path"], one["match"]) for one in items]

    def choose(self, ref: str = "s", **choice: Any) -> Any:
        return self.send(f"/api/tasksets/{ref}", choice, "PATCH")

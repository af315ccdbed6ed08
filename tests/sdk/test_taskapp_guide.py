"""The guide's own Task App, run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "task-apps.md"


async def test_the_app_of_the_guide_serves_a_rollout(monkeypatch: Any) -> None:
    (program,) = [text for text in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S) if "create_task_app(" in text]
    names: dict[str, Any] = {}
    exec(program, names)
    monkeypatch.setenv("ENVIRONMENT_API_KEY", "key-of-the-guide")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(names["app"]), base_url="http://app", headers={"X-API-Key": "key-of-the-guide"}) as http:
        reply = await http.post("/rollout", json={"run_id": "r", "env": {"seed": 1}, "policy": {}, "ops": ["agent", "env"], "mode": "eval"})
        assert reply.json()["metrics"]["mean_return"] == 1.0
        assert (await http.get("/task_info?seed=1")).json()["task_metadata"] == {"seed": 1}

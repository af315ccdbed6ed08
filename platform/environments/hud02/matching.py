"""Matchers for a remote caller, each in a process of its own with a deadline: a pattern or a text may be made to take for ever."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from proctor.hud02 import matchers
from web.errors import AppError, invalid, problem

WITHIN_S = 5.0
NAMES = {**{name: name for name in matchers.MATCHERS}, "default": "single", "match": "single", "fuzz": "fuzzy"}
FOLDER = str(matchers.FOLDER)


async def match(kind: str, response: Any, answer: Any) -> dict[str, Any]:
    """`{score, reason, details}`. Raises AppError 422: never a score of −1."""
    if kind not in NAMES:
        raise invalid([problem("type", f"must be one of {', '.join(sorted(NAMES))}", kind)])
    asked = json.dumps({"kind": NAMES[kind], "response": response, "answer": answer}).encode()
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "proctor.hud02.matchers", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=FOLDER)
    try:
        async with asyncio.timeout(WITHIN_S):
            told, _ = await process.communicate(asked)
    except TimeoutError:
        raise AppError("timeout", 422, f"The {kind} matcher did not end within {WITHIN_S:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    result: dict[str, Any] = json.loads(told)
    if "error" in result:
        raise invalid([problem("answer", result["error"])])
    return {"score": result["score"], "reason": result["reason"], "details": {}}

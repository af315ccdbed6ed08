"""Stands for `proctor/rollout/hudhost/child.py`, whose protocol it speaks without HUD's package; the real one runs in
`tests/peers/test_hud_agents.py`. It does what the job's model says: `answer`, `silent`, `die`, `nonsense`, `wrong`, or `env` (tells its variables).

Started as the real child is: `-I CHILD SOCKET [--fork]`; the first file beside it named `refuse` or `mute` spoils the start.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any


def step(job: dict[str, Any], text: str) -> dict[str, Any]:
    payload = {"step_id": job["steps_before"] + 1, "source": "agent", "content": text, "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    attributes = {"hud.schema": "hud.step.v1", "hud.task_run_id": job["run_id"], "hud.payload": payload}
    now = "2026-01-01T00:00:00.000000Z"
    return {"name": "step.agent", "trace_id": "0" * 32, "span_id": "1" * 16, "start_time": now, "end_time": now, "attributes": attributes}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    job = json.loads(await reader.readline())
    wish, said = job["model"]["name"], f"{job['model']['name']} with {job['model']['api_key']} at {job['url']}"
    if wish == "die":
        os._exit(9)
    if wish == "nonsense":
        writer.write(b"!\n")
    for message in [{"phase": "waiting_model"}, {"span": step(job, json.dumps(dict(os.environ)) if wish == "env" else said)}, {"phase": "running"}]:
        writer.write(json.dumps(message).encode() + b"\n")
    if wish == "silent":
        with contextlib.suppress(ConnectionError):
            await reader.read()
        Path(os.environ["HOME"], "cancelled").touch()
    failed = ["model_http", f"refused {job['model']['api_key']}"] if wish == "wrong" else None
    writer.write(json.dumps({"end": {"answer": str(os.getpid()), "stop_reason": "done", "failed": failed}}).encode() + b"\n")
    await writer.drain()
    writer.close()


async def main(path: str) -> None:
    async with await asyncio.start_unix_server(serve, path) as server:
        print(json.dumps({"ready": "0.0.fake"}), flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    manners = Path(sys.argv[1]).name
    if manners == "refuse":
        print(json.dumps({"refused": "RuntimeError: spans are being uploaded"}), flush=True)
        sys.exit(1)
    if manners == "mute":
        sys.exit("no module named hud")
    asyncio.run(main(sys.argv[4]))

"""Run with a peer's Python: the real HUD SDK drives an environment that is served at the address given. Prints one JSON object."""

import asyncio
import inspect
import json
import os
import sys
import tempfile

os.environ.update(HOME=tempfile.mkdtemp(prefix="hud-home-"), HUD_SKIP_VERSION_CHECK="1", HUD_CLI_ANALYTICS_ENABLED="false")
os.environ.pop("HUD_API_KEY", None)

from hud.agents.base import Agent
from hud.clients import HudProtocolError, connect
from hud.eval import Runtime, Task, Taskset

RUNTIME = Runtime(url=sys.argv[1])


class Says(Agent):
    """Answers each prompt with what is noted for it."""

    def __init__(self, answers):
        super().__init__()
        self.answers = answers

    async def __call__(self, run):
        run.trace.content = self.answers[run.prompt_text]


async def run_tasks():
    words = {"strawberry": "3", "banana": "0", "mirror": "1"}
    tasks = [Task(env="letters", id="count", args={"word": word}, slug=word) for word in words]
    answers = {f"How many 'r's are in '{word}'?": answer for word, answer in words.items()}
    job = await Taskset("letters", tasks).run(Says(answers), runtime=RUNTIME, group=2, max_concurrent=3)
    return {"reward": job.reward, "runs": [[run.reward, run.trace.status] for run in job.runs]}


async def use_the_client():
    async with connect(RUNTIME) as client:
        listed = await client.list_tasks()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(client.binding("echo").url.rpartition(":")[2]))
        writer.write(b"ping")
        writer.write_eof()
        echoed = (await reader.read()).decode()
        writer.close()
        errors = [await refusal(client.start_task("nope")), await refusal(client.start_task("count", {"zzz": 1}))]
        await client.start_task("nan")
        errors.append(await refusal(client.grade({"answer": ""})))
        session = client.manifest.session_id
        await client.start_task("count")
        client.abort()
    async with connect(RUNTIME) as client:
        resumed = await resume_and_grade(client, session)
    return {"listed": [task["id"] for task in listed], "echoed": echoed, "errors": errors, "resumed": resumed["score"]}


async def resume_and_grade(client, session):
    """0.6.12 knows no sessions: it grades the one task that is parked. The server may need a moment to see the hang-up."""
    while True:
        try:
            if "session_id" in inspect.signature(client.hello).parameters:
                await client.hello(session_id=session)
            return await client.grade({"answer": "3"})
        except HudProtocolError as error:
            if error.code != -32600:
                raise
            await asyncio.sleep(0.05)


async def refusal(call):
    try:
        await call
    except HudProtocolError as error:
        return [error.code, error.message]
    return None


async def main():
    return {**await run_tasks(), **await use_the_client()}


print(json.dumps(asyncio.run(main())))

"""Run with a peer's Python: `sdk_scenarios.py URL KEY SCENARIO [ARGUMENT…]`. The unmodified HUD SDK does one thing; the last line it prints is JSON."""

import asyncio
import json
import os
import signal
import sys
import tempfile
import uuid
from pathlib import Path

os.environ.update(
    HOME=tempfile.mkdtemp(prefix="hud-home-"), HUD_API_URL=sys.argv[1], HUD_TELEMETRY_URL=f"{sys.argv[1]}/v3/api", HUD_WEB_URL=sys.argv[1],
    HUD_RUNTIME_URL=sys.argv[1], HUD_GATEWAY_URL=f"{sys.argv[1]}/gateway", HUD_RL_URL=f"{sys.argv[1]}/rl", HUD_API_KEY=sys.argv[2],
    HUD_SKIP_VERSION_CHECK="1", HUD_CLI_ANALYTICS_ENABLED="false",
)  # fmt: skip

from hud.agents.base import Agent
from hud.agents.openai_compatible import OpenAIChatAgent
from hud.agents.types import AgentStep, OpenAIChatConfig
from hud.clients import connect
from hud.eval import HostedRuntime, HUDRuntime, LocalRuntime, Task, Taskset
from hud.eval.run import rollout
from hud.eval.sync import upload_taskset
from hud.telemetry import flush
from hud.utils.platform import PlatformClient

ENV_FILE = Path(tempfile.mkdtemp(prefix="hud-env-")) / "env.py"
ENV_FILE.write_text("""
from hud.environment import Environment

env = Environment("letters")


@env.template()
async def count(word: str = "strawberry", letter: str = "r"):
    answer = yield f"How many times does '{letter}' stand in '{word}'?"
    yield 1.0 if answer == str(word.count(letter)) else 0.0
""")
HERE = LocalRuntime(str(ENV_FILE))
THERE = HostedRuntime(poll_interval=0.3)


class Says(Agent):
    """Answers at once; then waits for a file, or for ever."""

    def __init__(self, answer, wait_for=None):
        super().__init__()
        self.answer, self.wait_for = answer, wait_for

    async def __call__(self, run):
        run.record(AgentStep(source="agent", content=f"I say {self.answer}", done=True))
        run.trace.content = self.answer
        while self.wait_for and not Path(self.wait_for).exists():
            await asyncio.sleep(0.05)


def word(text, **more):
    return Task(env="letters", id="count", args={"word": text, "letter": "r"}, slug=text, **more)


def model_agent(model):
    return OpenAIChatAgent(OpenAIChatConfig(model=model, api_key="unused", max_steps=3))


def told(job):
    flush(30)
    return {
        "job": str(uuid.UUID(job.id)),
        "runs": [
            {
                "id": str(uuid.UUID(run.trace_id)),
                "slug": run.slug,
                "reward": run.reward,
                "status": run.trace.status,
                "error": run.trace.error,
            }
            for run in job.runs
        ],
    }


async def live(name, gate):
    """A local run that goes on when the file `gate` is there."""
    return told(await Taskset(name, [word("strawberry"), word("mirror")]).run(Says("3", gate), runtime=HERE, group=2, max_concurrent=4))


async def timeout(name):
    """The answer is right, and then the agent does not come back."""
    task = word("strawberry", agent_config={"timeout_seconds": 1})
    return told(await Taskset(name, [task]).run(Says("3", "/nowhere/at/all"), runtime=HERE))


async def hosted(model):
    return told(await word("strawberry").run(model_agent(model), runtime=THERE, rollout_timeout=120))


async def with_ids(job_id, run_id, answer):
    """A local rollout under ids that the caller chose."""
    run = await rollout(word("strawberry"), Says(answer), runtime=HERE, job_id=job_id, trace_id=run_id, group_id=uuid.UUID(int=7).hex)
    flush(30)
    return {"reward": run.reward, "status": run.trace.status, "error": run.trace.error}


async def pinned(name, model):
    """Two versions; the first is loaded by reference and run here and there."""
    platform = PlatformClient.from_settings()
    upload_taskset(platform, name, [word("strawberry")])
    upload_taskset(platform, name, [word("strawberry", columns={"v": 2}), word("banana")])
    first = Taskset.from_api(f"{name}@1")
    return {
        "slugs": [task.slug for task in first],
        "newest": [task.slug for task in Taskset.from_api(name)],
        **told(await first.run(model_agent(model), runtime=THERE, rollout_timeout=120)),
    }


async def tunnel(name, env, answer):
    """A taskset of the platform, run without a word about where: the agent here, the environment there."""
    rows = [Task(env=env, id="count", args={"word": text}, slug=text) for text in ("strawberry", "banana")]
    upload_taskset(PlatformClient.from_settings(), name, rows)
    return told(await Taskset.from_api(name).run(Says(answer), group=2))


async def from_api(name, answer):
    """A taskset that is there already, by name, without a runtime."""
    return told(await Taskset.from_api(name).run(Says(answer)))


async def tunnel_waits(env, gate):
    """One run whose agent, once it began, waits for the file `gate`."""
    task = Task(env=env, id="count", args={}, slug="waits")
    return told(await task.run(Says("3", gate), runtime=HUDRuntime(), rollout_timeout=120))


async def capabilities(env):
    """The control channel's client over a tunnel: what there is, and an echo through a capability."""
    async with HUDRuntime()(Task(env=env, id="count", args={})) as runtime, connect(runtime) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(client.binding("echo").url.rpartition(":")[2]))
        sent = os.urandom(3_000_000)
        writing = asyncio.create_task(write_all(writer, sent))
        echoed = await reader.readexactly(len(sent))
        await writing
        writer.close()
        return {"tasks": [task["id"] for task in await client.list_tasks()], "same": echoed == sent}


async def write_all(writer, data):
    writer.write(data)
    await writer.drain()


async def refused(env):
    """What a run of an environment that cannot be had says."""
    return told(await Task(env=env, id="count", args={}).run(Says("3"), runtime=HUDRuntime(), rollout_timeout=60))


SCENARIOS = {"tunnel": tunnel, "from-api": from_api, "tunnel-waits": tunnel_waits, "capabilities": capabilities, "refused": refused, "live": live, "timeout": timeout, "hosted": hosted, "with-ids": with_ids, "pinned": pinned}
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts something in the background makes it deaf to Ctrl-C
print(json.dumps(asyncio.run(SCENARIOS[sys.argv[3]](*sys.argv[4:]))))

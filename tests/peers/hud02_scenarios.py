"""Run with the real hud-python 0.2.10: one scenario by name; prints a JSON line. Arguments: base_url, key, scenario, what it needs."""

import asyncio
import io
import json
import sys
import tarfile

import hud
from hud.env.environment import Environment, create_remote_config
from hud.env.remote_client import RemoteClient
from hud.env.remote_docker_client import RemoteDockerClient
from hud.evaluators.remote import _remote_eval_call
from hud.job import create_job, load_job
from hud.settings import settings
from hud.task import Task
from hud.taskset import TaskSet, load_taskset
from hud.telemetry import context
from hud.types import CustomGym
from hud.utils.common import FunctionConfig, get_gym_id

base_url, key, scenario, *rest = sys.argv[1:]
settings.base_url, settings.api_key = base_url, key


async def taskset(image):
    tasks = [
        Task(prompt="Click twice", gym=CustomGym(location="remote", image_or_build_context=image), setup=("setup", 1), evaluate=("evaluate", 2)),
        Task(prompt="Capital of France?", gym="qa", evaluate=("response_includes", "Paris"), description="easy"),
    ]
    await TaskSet(name="Legacy tasks", tasks=tasks).upload()
    got = await load_taskset("legacy-tasks")
    return [
        {"id": task.id, "prompt": task.prompt, "gym": task.gym if isinstance(task.gym, str) else task.gym.image_or_build_context,
         "setup": task.setup, "evaluate": task.evaluate, "description": task.description}
        for task in got
    ]


async def docker_client(image):
    """Commands, archives and functions in a remote container of an image."""
    job = await create_job("by hand", metadata={"k": 1})
    client = await RemoteDockerClient.create(image, job_id=job.id, task_id="t1")
    told = {"status": (await client.get_status()).value}
    done = await client.execute(["sh", "-c", "echo out; echo err >&2; exit 3"], workdir="/tmp")
    told["execute"] = [done["stdout"].decode(), done["stderr"].decode(), done["exit_code"]]
    started = asyncio.get_running_loop().time()
    await client.execute(["sleep", "30"], timeout=1)
    told["hung_s"] = asyncio.get_running_loop().time() - started
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        entry = tarfile.TarInfo("note.txt")
        entry.size = 5
        tar.addfile(entry, io.BytesIO(b"hello"))
    await client.put_archive("/tmp", buffer.getvalue())
    with tarfile.open(fileobj=io.BytesIO(await client.get_archive("/tmp/note.txt"))) as tar:
        told["archive"] = tar.extractfile("note.txt").read().decode()
    env = Environment(client=client, metadata={}, task=Task(prompt="Click", setup=("setup", 1), evaluate=("evaluate", 2)), build_data={})
    await env._setup()
    observation, _info = await env.reset()
    told["reset"] = [observation.text, bool(observation.screenshot)]
    result, _, _ = await client.invoke(FunctionConfig(function="step", args=[[{"type": "click"}]]))
    told["step"] = result["observation"]["text"]
    told["evaluate"] = await env.evaluate()
    await client.close()
    await client.close()
    return told | {"id": client.env_id, "after": (await client.get_status()).value}


async def remote_client(gym):
    """A task run of a registered environment, graded by its controller."""
    job = await create_job("remote")
    task = Task(id="t1", prompt="Click twice", setup=("setup", 1), evaluate=("evaluate", 2))
    client, build_data = await RemoteClient.create(gym_id=await get_gym_id(gym), job_id=job.id, task_id=task.id)
    env = Environment(client=client, metadata={}, task=task, build_data=build_data)
    await env._setup()
    result, _, _ = await client.invoke(FunctionConfig(function="step", args=[[{"type": "click"}]]))
    evaluated = await env.evaluate()
    try:
        await client.invoke(FunctionConfig(function="broken", args=[]))
        broken = None
    except Exception as error:
        broken = str(error)
    await client.close()
    trajectories = [trajectory.model_dump(mode="json") for trajectory in await (await load_job(job.id)).load_trajectories()]
    return {"run": env.task_run_id, "job": job.id, "text": result["observation"]["text"], "evaluated": evaluated, "broken": broken, "trajectories": trajectories}


async def trace():
    from hud.telemetry import exporter

    with hud.trace("my-trace", attributes={"a": 1}) as run_id:
        context.create_manual_test_record(foo="bar")
    await asyncio.sleep(1)
    flush = getattr(exporter, "flush", None)
    if flush:
        await asyncio.to_thread(flush, timeout=20)
    return {"run": run_id}


async def scored():
    good = await _remote_eval_call("It is Paris", "paris", "match")
    slow = await _remote_eval_call("a" * 40 + "!", "(a+)+$", "regex")
    return {"good": good, "slow": slow}


async def configs():
    """The five cases, as the package makes them."""

    def env(**task):
        return Environment(client=RemoteClient("e"), metadata={}, build_data={}, task=Task(prompt="p", **task), final_response="Paris")

    cases = [
        create_remote_config(env(), ("response_includes", "Paris"), "evaluate"),
        create_remote_config(env(id="t1", evaluate=("response_includes", "x")), None, "evaluate"),
        create_remote_config(env(id="t2", config={"expected": "val"}), None, "evaluate"),
        create_remote_config(env(id="t3"), None, "evaluate"),
        create_remote_config(env(), None, "evaluate"),
    ]
    return [call.model_dump() for (call,) in cases]


print(json.dumps(asyncio.run(globals()[scenario](*rest)), default=lambda model: model.model_dump()))

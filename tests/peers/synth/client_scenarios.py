"""Played by the real synth-ai package in an environment of its own: `client URL KEY MODEL_URL` drives a Task App with its TaskAppClient,
`check` validates JSON lines {kind, body} with its models. Prints one JSON object last."""

import asyncio
import json
import sys

from synth_ai.task import TaskAppClient, normalize_inference_url, validate_rollout_response_for_rl
from synth_ai.task.contracts import RolloutMode, RolloutEnvSpec, RolloutPolicySpec, RolloutRecordConfig, RolloutRequest, RolloutResponse
from synth_ai.task.trace_correlation_helpers import verify_trace_correlation_id_in_response


def request(run_id, mode, url, **record):
    policy = {"model": "stub-right", "temperature": 0.0, "api_key": "sk-of-the-trainer", **({"inference_url": url} if url else {})}
    return RolloutRequest(
        run_id=run_id, mode=mode, env=RolloutEnvSpec(env_name="sums", seed=1), policy=RolloutPolicySpec(policy_name="p", config=policy),
        ops=["agent", "env"] * 2, record=RolloutRecordConfig(**record),
    )


async def client(url, key, model_url):
    async with TaskAppClient(url, key) as app:
        health, info, tasks = await app.health(), await app.info(), await app.task_info([0, 1])
        scored = await app.rollout(request("eval-1", RolloutMode.EVAL, None))
        training = request("rl-1", RolloutMode.RL, model_url + "?cid=trace_abc", return_trace=True, trace_format="structured", logprobs=True)
        trained = await app.rollout(training)
        raw = (await app._request("POST", "/rollout", json_payload=training)).json()
    return {
        "health": health, "service": info["service"], "tasks": [task.model_dump() for task in tasks], "eval": scored.model_dump(), "rl": trained.model_dump(),
        "rl_issues": validate_rollout_response_for_rl(raw, warn_only=True), "cid_ok": verify_trace_correlation_id_in_response(raw, "trace_abc", "rl-1"),
    }


def check():
    models, count = {"request": RolloutRequest, "response": RolloutResponse}, 0
    for line in sys.stdin:
        item = json.loads(line)
        if item["kind"] == "url":
            assert normalize_inference_url(item["body"][0]) == item["body"][1], item
        else:
            models[item["kind"]].model_validate(item["body"])
        count += 1
    return {"validated": count}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(client(*sys.argv[2:5])) if sys.argv[1] == "client" else check()))

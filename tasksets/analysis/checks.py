"""What the manifests of a team's environments say about tasks: is there such a template, and do the args fit its JSON Schema?

Each environment counts with its newest ready version. One that has none is *unknown*: its tasks are marked, never refused. Manifests are
read once for each `Rules`, in one query for all names told beforehand.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from accounts.names import normalise
from environments import queries as environments
from environments.models import EnvironmentVersion
from proctor.content import MAX_PROBLEMS, StoredTask, TaskText, read_stored, shown
from proctor.wire.errors import Problem
from tasksets import bulk, queries, versions
from tasksets.diffs import Path, path_text
from tasksets.models import Taskset
from web.errors import invalid

logger = logging.getLogger(__name__)
SHOWN_TEMPLATES = 10
MAX_SECONDS, MAX_UNUSABLE = 20.0, 10


@dataclass
class Manifest:
    """One environment's templates: id → JSON Schema of its args, as text. `unusable`: those whose schema turned out to be bad, and why.
    `spent`: seconds of checking, by template."""

    name: str
    version_number: int
    templates: Mapping[str, str]
    unusable: dict[str, str] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def problems(self, template: str, args: object, path: Path) -> list[Problem]:
        """None for what can't be checked. A schema that is bad, or slow again and again, is not asked any more; nor are any, after ten."""
        if template in self.unusable or len(self.unusable) >= MAX_UNUSABLE:
            return []
        from tasksets.analysis import schemas  # with what it needs of memory, only where something is checked

        began = time.monotonic()
        try:
            found = schemas.problems_of(self.templates[template], args, path)
        except schemas.SchemaUnusable as error:
            return self._give_up(template, str(error))
        self.spent[template] += time.monotonic() - began
        return found if self.spent[template] < MAX_SECONDS else self._give_up(template, f"it took more than {MAX_SECONDS:g} s in all")

    def _give_up(self, template: str, why: str) -> list[Problem]:
        logger.warning("schema unusable environment=%s template=%s because=%s", self.name, template, why)
        self.unusable[template] = why
        return []


class Rules:
    def __init__(self, team_id: uuid.UUID, names: Iterable[str] = ()) -> None:
        self._team_id = team_id
        self._manifests: dict[str, Manifest | None] = {}
        self._load(names)

    def _load(self, names: Iterable[str]) -> None:
        handles = {normalise(name) for name in names} - self._manifests.keys()
        found = environments.newest_ready_of(self._team_id, handles) if handles else {}
        self._manifests |= {handle: _manifest(found[handle]) if handle in found else None for handle in handles}

    def manifest_of(self, env: str) -> Manifest | None:
        """None for an environment that is unknown."""
        handle = normalise(env)
        if handle not in self._manifests:
            self._load([env])
        return self._manifests[handle]

    def problems(self, task: StoredTask) -> list[Problem]:
        """Of the task, and of its verifier, which is a task too."""
        found = self._of(task.env, task.id, json.loads(bytes(task.args)), ())
        verifier = json.loads(bytes(task.verifier))
        if verifier:
            found += self._of(verifier["env"], verifier["id"], verifier.get("args"), ("verifier",))
        return found

    def _of(self, env: str, template: str, args: object, path: Path) -> list[Problem]:
        manifest = self.manifest_of(env)
        if manifest is None:
            return []
        if template not in manifest.templates:
            return [Problem(path=path_text((*path, "id")), rule=_no_template(manifest), value=shown(template))]
        return manifest.problems(template, args or {}, (*path, "args"))


def refuse_bad(taskset: Taskset, lines: Sequence[bytes], tasks: Mapping[bytes, TaskText]) -> None:
    """For a set whose policy it is: raises AppError 422 when a manifest has something against one of these entries. Contents that are not
    in `tasks` are stored already."""
    if taskset.schema_policy != "refuse":
        return
    rules, found = Rules(taskset.team_id), list[Problem]()
    for part in bulk.batches(lines, queries.READ_BATCH):
        keys = {line: queries.content_key(taskset.team_id, versions.content_id_of(line)) for line in part if line not in tasks}
        stored = queries.content_texts(keys.values())
        for line in part:
            text = tasks[line].text if line in tasks else stored.get(keys[line])
            found += _at(versions.slug_key(line).decode(), rules.problems(read_stored(text))) if text else []
        if len(found) > MAX_PROBLEMS:
            break
    if found:
        raise invalid(found)


def _at(slug_json: str, problems: Iterable[Problem]) -> list[Problem]:
    return [one.model_copy(update={"path": f"tasks[{slug_json}].{one.path}"}) for one in problems]


def _manifest(version: EnvironmentVersion) -> Manifest | None:
    """None for an environment that names no templates."""
    templates = version.manifest.get("templates")
    if not isinstance(templates, list):
        return None
    texts = {str(one["id"]): json.dumps(one.get("args") or {}) for one in templates}
    return Manifest(version.environment.name, version.number, texts)


def _no_template(manifest: Manifest) -> str:
    there = sorted(manifest.templates)
    listed = ", ".join(shown(name) for name in there[:SHOWN_TEMPLATES]) or "none"
    more = f" and {len(there) - SHOWN_TEMPLATES} more" if len(there) > SHOWN_TEMPLATES else ""
    return f"must be a template of environment {manifest.name} (version {manifest.version_number}), which has {listed}{more}"

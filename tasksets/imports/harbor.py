"""`hud harbor import`: a zip of task folders into a taskset by a worker, and the report of what became of each folder.

Every good folder becomes a version of a `folder` environment and a task; the bad ones are named with their reason and left out. Jobs of
Harbor's are named and left out too. Importing the same folders again changes nothing.
"""

from __future__ import annotations

import logging
from typing import Any

from django.utils import timezone

from accounts.callers import Caller
from proctor.formats.folders import Bundle, open_bundle
from tasksets import queries, versions
from tasksets.imports import committing, sessions
from tasksets.imports.actions import look
from tasksets.imports.check import Checker, run_check
from tasksets.imports.claims import Claim, Lost, claim
from tasksets.imports.committing import Gathered
from tasksets.imports.models import Import, Upload
from tasksets.imports.reading import mapping_of, read_options, reading
from tasksets.models import Taskset
from web.errors import AppError, conflict, invalid, problem

logger = logging.getLogger(__name__)
FORMAT, SCHEMA = "harbor", "harbor_import_report.v5"
NOT_RUN = "Each folder is kept as a version of an environment of kind 'folder'. This Proctor can't run that kind yet: that comes with a later release. Its tasks can be looked at, versioned and exported."
NO_JOBS = "Job runs are not imported; import the task folders, and run them here"
OUTCOMES = ("imported", "updated", "unchanged", "failed")


def start(caller: Caller, *, upload: Upload, taskset: Taskset) -> Import:
    """Queued for a worker. Raises AppError 409 while bytes are missing, 422 for what is no bundle."""
    caller.require("write")
    if taskset.archived_at:
        raise conflict(f"Taskset {taskset.name} is archived; restore it first")
    found = Import(
        team_id=caller.team_id, taskset=taskset, upload=upload, name=taskset.title, filename=upload.filename, size_bytes=upload.size_bytes,
        wanted="zip", format="zip", layout="tasks", auto=True, status="checking", created_by=caller.label, user_id=caller.user_id,
    )  # fmt: skip
    if upload.received_bytes != upload.size_bytes:
        raise conflict("The bundle is not whole yet", received_bytes=upload.received_bytes)
    if not upload.size_bytes:
        raise invalid([problem("file_id", "the bundle is empty")])
    found.save()
    return found


def run_import(held: Claim) -> None:
    """Under a claim, from check to report. Ends quietly when it was cancelled."""
    found = Import.objects.select_related("upload", "taskset__head").get(id=held.import_id)
    before = {versions.slug_of(line): line for line in queries.version_lines(_head(found))}
    look(found, None)
    if found.status == "failed":
        _end(held, found, "failed", error=found.error, report=_refusal(found))
        return
    Import.objects.filter(id=found.id).update(columns=found.columns, guess=found.guess)
    run_check(held)
    found.refresh_from_db()
    if found.status != "checked":
        Import.objects.filter(id=found.id, status="failed").update(report=_refusal(found), ended_at=timezone.now())
        return
    next_claim = claim(found, held.holder, "committing", ("checked",), held.stopping)
    if next_claim is not None:
        _commit(next_claim, found, before)


def _head(found: Import) -> Any:
    head = found.taskset.head if found.taskset else None
    if head is not None and found.taskset is not None:
        head.taskset = found.taskset
    return head


def _commit(held: Claim, found: Import, before: dict[str, bytes]) -> None:
    caller = Caller(found.team_id, found.user_id, found.created_by or "", frozenset({"read", "write"}))
    report = _report(found, before)
    try:
        if found.rows_good:
            message = f"hud harbor import of {found.filename}"
            committing.perform(held, caller, found, "merge", message, lambda gathered: _completed(report, gathered))
        else:
            _end(held, found, "done", report=_completed(report, Gathered()))
            _drop(found)
    except Lost:
        logger.info("import given up import_id=%s", found.id)
    except AppError as error:
        report["error"] = {"step": "make the version", "message": error.message}
        _end(held, found, "failed", error=error.message, report=report)


def _completed(report: dict[str, Any], gathered: Gathered) -> dict[str, Any]:
    """With the environments that were made, and one line for all."""
    _add_environments(report, gathered)
    tallies = {outcome: sum(task["status"] == outcome for task in report["tasks"]) for outcome in OUTCOMES}
    return {**report, "summary": ", ".join(f"{count} {outcome}" for outcome, count in tallies.items() if count) or "Nothing to import"}


def _end(held: Claim, found: Import, status: str, **changes: Any) -> None:
    held.held().update(status=status, claimed_by=None, claimed_until=None, ended_at=timezone.now(), **changes)


def _drop(found: Import) -> None:
    upload = found.upload
    if upload is not None and not Import.objects.filter(upload=upload).exclude(status="done").exists():
        sessions.drop_upload(upload)


def _refusal(found: Import) -> dict[str, Any]:
    """Of a bundle that was refused: the report says why, so that the import counts as stopped and not as broken."""
    error = {"step": "read the bundle", "message": found.error or "The bundle could not be read"}
    return {"schema_version": SCHEMA, "taskset_id": str(found.taskset_id), "tasks": [], "jobs": [], "warnings": [], "error": error}


def _report(found: Import, before: dict[str, bytes]) -> dict[str, Any]:
    """Read once more from the bundle: what the tasks are against the head before, the problems of the rest, the jobs."""
    mapping = mapping_of(found)
    checker = Checker(found, mapping)
    tasks: list[dict[str, Any]] = []
    with reading(found, mapping.options) as (_file, _kind, rows):
        for row in rows:
            made = checker.make(row)
            path = str(row.cells.get("path", ""))
            if made.task is None:
                reason = "; ".join(f"{one.column}: {one.rule}" if one.column else one.rule for one in made.problems)
                tasks.append(
                    {"name": path.rpartition("/")[2], "source": "bundle", "path": path, "status": "failed", "reason": reason[:1000]}
                )
                continue
            old, new = before.get(made.task.slug), versions.entry(made.task.content_id, made.task.slug)
            status = "imported" if old is None else "unchanged" if old == new else "updated"
            tasks.append({"name": made.task.slug, "source": "bundle", "path": path, "status": status})
    return {
        "schema_version": SCHEMA, "taskset_id": str(found.taskset_id), "tasks": tasks, "jobs": _jobs(found),
        "warnings": [{"path": found.filename, "reason": NOT_RUN}], "error": None,
    }  # fmt: skip


def _jobs(found: Import) -> list[dict[str, Any]]:
    if found.upload is None:
        return []
    with sessions.open_upload(found.upload) as file:
        bundle: Bundle = open_bundle(file, read_options(None).limits)
        with bundle.archive:
            return [
                {"path": path, "name": path.rpartition("/")[2], "status": "skipped", "reason": NO_JOBS, "trials": []}
                for path in bundle.jobs
            ]


def _add_environments(report: dict[str, Any], gathered: Gathered) -> None:
    for task in report["tasks"]:
        made = gathered.environments.get(task["name"]) if task["status"] != "failed" else None
        if made is None:
            continue
        task["environment_id"], task["build_id"] = str(made.version.environment_id), str(made.version.id)
        task["build_version"] = made.version.number
        if made.is_new and task["status"] == "unchanged":
            task["status"] = "updated"

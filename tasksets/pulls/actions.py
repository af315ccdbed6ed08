"""A pull is an import whose file comes from another Proctor: fetched, checked against the digest, then committed as the whole set.

It runs in the thread of its request, since the key is kept nowhere: in no row, no log and no message. Its import shows the progress and can
be cancelled; a request sent again with the same id answers the same. What fails leaves a line that says why, and nothing else.
"""

from __future__ import annotations

import logging
import re
import threading
import time
import uuid
from collections.abc import Iterator

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.callers import Caller
from accounts.names import handle_for
from gateway.actions import may_lead_inside
from gateway.addresses import ADMIN_RULE, leads_inside, url_problem
from proctor.wire.errors import Problem
from proctor.wire.imports import Mapping
from tasksets import queries, versions
from tasksets.commits import Uploaded
from tasksets.imports import committing, sessions
from tasksets.imports.check import run_check
from tasksets.imports.claims import Claim, Lost, claim
from tasksets.imports.models import Import, ImportProblem, Upload
from tasksets.models import Taskset
from tasksets.pulls import remote
from tasksets.pulls.remote import Offer
from web.errors import AppError, conflict, invalid, problem

logger = logging.getLogger(__name__)
AT_ONCE = 2
KEEP_EVERY_S = 1.0
KEY = re.compile(r"[\x21-\x7e]{0,500}")
_places = threading.BoundedSemaphore(AT_ONCE)


def pull(
    caller: Caller, *, url: str, reference: str, key: str = "", name: str | None = None, pull_id: uuid.UUID | None = None
) -> Uploaded:
    """Into the set called `name` (the peer's name unless given), whose tasks become those of the peer's version.
    Raises AppError 403, 409, 422; 502 and 504 for what the peer does; 503 when two pulls go on already."""
    caller.require("write")
    if problems := _problems(caller, url, key, name):
        raise invalid(problems)
    known = Import.objects.filter(team_id=caller.team_id, id=pull_id).first() if pull_id else None
    if known is not None:
        return _again(known)
    if not _places.acquire(blocking=False):
        raise AppError("busy", 503, f"{AT_ONCE} pulls go on already; try again", headers={"Retry-After": "30"})
    try:
        with remote.opened(url, reference, key=key, may_lead_inside=may_lead_inside(caller)) as (offer, pieces):
            _check_offer(offer, reference)
            found = _begin(caller, offer, name, pull_id or uuid.uuid4())
            return _bring(caller, found, offer, pieces)
    finally:
        _places.release()


def _problems(caller: Caller, url: str, key: str, name: str | None) -> list[Problem]:
    """The key is never shown back."""
    found = [] if KEY.fullmatch(key) else [problem("key", "must be printable ASCII without white space")]
    rule = url_problem(url)
    if rule is not None:
        found.append(problem("url", rule))
    elif not may_lead_inside(caller) and leads_inside(url):
        found.append(problem("url", ADMIN_RULE, url))
    if name is not None:
        handle_for(name)
    return found


def _again(known: Import) -> Uploaded:
    if known.status == "done":
        return committing.result_of(known)
    raise conflict(f"The pull with this id is {known.status}; for another try take another id", import_status=known.status)


def _check_offer(offer: Offer, reference: str) -> None:
    wanted = reference.partition("@")[2].strip()
    if wanted.startswith("sha256:") and wanted != offer.digest:
        raise remote.failed(offer.host, f"offers {offer.digest} instead of {wanted[:80]}")


def _begin(caller: Caller, offer: Offer, name: str | None, pull_id: uuid.UUID) -> Import:
    taskset = _target(caller, offer, name)
    upload = Upload.objects.create(
        team_id=caller.team_id, filename=f"{offer.name}.jsonl", size_bytes=0, created_by=caller.label, expires_at=timezone.now() + sessions.LIFE
    )  # fmt: skip
    mapping = Mapping(whole_rows=True).model_dump()
    try:
        with transaction.atomic():
            return Import.objects.create(
                id=pull_id, team_id=caller.team_id, taskset=taskset, upload=upload, name=taskset.title if taskset else name or offer.name,
                filename=upload.filename, size_bytes=0, wanted="jsonl", format="jsonl", layout="tasks", status="pulling", guess=mapping,
                mapping=mapping, created_by=caller.label, user_id=caller.user_id,
            )  # fmt: skip
    except IntegrityError:
        sessions.drop_upload(upload)
        raise conflict("This id is taken; take another") from None


def _target(caller: Caller, offer: Offer, name: str | None) -> Taskset | None:
    """Raises AppError 409 for a set that nobody named but that has the peer's name, and for an archived one."""
    taskset = queries.find_by_handle(caller.team_id, handle_for(name or offer.name))
    if taskset is not None and name is None:
        raise conflict(f"There is a taskset {taskset.name} here; give its name to replace its tasks, or another name", name=taskset.name)
    if taskset is not None and taskset.archived_at:
        raise conflict(f"Taskset {taskset.name} is archived; restore it first")
    return taskset


def _bring(caller: Caller, found: Import, offer: Offer, pieces: Iterator[bytes]) -> Uploaded:
    holder = f"pull-{uuid.uuid4().hex}"
    held = claim(found, holder, "pulling", ("pulling",))
    try:
        if held is None:
            raise Lost
        _fetch(held, found, _kept(held, offer, pieces))
        run_check(held, verify=lambda lines: _verify(lines, offer))
        return _commit(caller, found, holder, f"Pulled {offer.name}@{offer.number} from {offer.host}")
    except Lost:
        _clear(found, "The pull was cancelled")
        raise conflict("The pull was cancelled") from None
    except AppError as error:
        _clear(found, error.message)
        raise
    except BaseException:
        _clear(found, "The pull broke off; start it again")
        raise


def _kept(held: Claim, offer: Offer, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same pieces; once a second the lease is renewed and the progress told. Raises Lost."""
    rows, told = 0, time.monotonic()
    for piece in pieces:
        yield piece
        rows += piece.count(b"\n")
        if time.monotonic() - told >= KEEP_EVERY_S:
            told = time.monotonic()
            held.keep(progress=rows / offer.task_count)


def _fetch(held: Claim, found: Import, pieces: Iterator[bytes]) -> None:
    """Raises AppError; Lost when the upload went because somebody cancelled."""
    assert found.upload is not None
    try:
        size_bytes = sessions.receive_all(found.upload, pieces)
    except AppError:
        held.keep()
        raise
    held.keep(status="checking", size_bytes=size_bytes, progress=0)


def _verify(lines: list[bytes], offer: Offer) -> None:
    """Before anything of it is stored."""
    digest = versions.digest([chunk.id for chunk in versions.cut(lines)])
    if digest != offer.digest:
        raise remote.failed(offer.host, f"sent rows whose digest is {digest}, but promised {offer.digest}; nothing was kept")


def _commit(caller: Caller, found: Import, holder: str, message: str) -> Uploaded:
    """Raises AppError; Lost when it was cancelled meanwhile."""
    checked = Import.objects.select_related("upload", "taskset__head").get(id=found.id)
    if checked.status == "failed":
        raise AppError("pull_failed", 502, checked.error or "The rows could not be read")
    held = claim(checked, holder, "committing", ("checked",))
    if held is None:
        raise Lost
    return committing.perform(held, caller, checked, "replace", message)


def _clear(found: Import, why: str) -> None:
    """The files and the problems go; a line stays that says why."""
    there = Import.objects.filter(id=found.id).exclude(status__in=("done", "cancelled"))
    there.update(status="failed", error=why, upload=None, claimed_by=None, claimed_until=None, ended_at=timezone.now())
    ImportProblem.objects.filter(of=found.id).delete()
    if found.upload is not None:
        sessions.drop_upload(found.upload)
    logger.info("pull failed import_id=%s", found.id)

"""Task Apps as environments: register by URL and key, ask how they are, keep what they answered.

A version is `ready` from the first time that all its endpoints answer, and stays it; `checks` say how it is now. Registration asks at once,
a worker asks again (`watch`). Keys are encrypted; addresses inside are for instance admins.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.callers import Caller
from environments.actions import new_version
from environments.models import Environment, EnvironmentVersion, TaskApp
from environments.queries import get_environment
from gateway.actions import VISIBLE, may_lead_inside
from gateway.addresses import ADMIN_RULE, leads_inside, url_problem
from proctor.taskapp.client import Target, TaskAppClient
from proctor.taskapp.describe import Description, describe
from proctor.taskapp.probe import Check, probe
from proctor.taskapp.transport import CallFailed
from proctor.wire.errors import Problem
from web.crypto import decrypt, encrypt
from web.errors import conflict, invalid, problem
from web.threads import in_reader, in_writer

logger = logging.getLogger(__name__)
AT_ONCE = 10


def register_task_app(caller: Caller, *, name: str, url: str, api_key: str = "") -> TaskApp:
    """The next version of the environment, not asked yet. Raises AppError 422 with every problem, 409 for a name of another kind."""
    caller.require("write")
    problems = [*_url_problems(caller, url), *_key_problems(api_key)]
    if problems:
        raise invalid(problems)
    with transaction.atomic():
        version = new_version(caller, name, kind="task_app", source="url", status="failed", error="Not asked yet")
        TaskApp.objects.filter(version__environment=version.environment).update(next_check_at=None)
        return TaskApp.objects.create(
            version=version, url=url.rstrip("/"), key_encrypted=encrypt(api_key) if api_key else "", by_instance_admin=may_lead_inside(caller),
            next_check_at=_next_check(),
        )  # fmt: skip


def _url_problems(caller: Caller, url: str) -> list[Problem]:
    """The URL's text is shown back only when it holds no password."""
    rule = url_problem(url)
    if rule is not None:
        return [problem("url", rule)]
    return [problem("url", ADMIN_RULE, url)] if not may_lead_inside(caller) and leads_inside(url) else []


def _key_problems(api_key: str) -> list[Problem]:
    good = VISIBLE.fullmatch(api_key) and api_key == api_key.strip()
    return [] if good else [problem("api_key", "must be printable ASCII without white space at the ends")]


def get_task_app(caller: Caller, reference: str) -> TaskApp:
    """Of the environment's newest version. Raises AppError 404 for another team's, 409 for another kind."""
    environment = get_environment(caller, reference)
    found = newest_task_app(environment)
    if found is None:
        raise conflict(f"Environment '{environment.name}' is no Task App")
    return found


def newest_task_app(environment: Environment) -> TaskApp | None:
    apps = TaskApp.objects.select_related("version__environment").filter(version__environment=environment)
    return apps.order_by("-version__number").first()


def target_of(app: TaskApp) -> Target:
    """Where it is, with its key."""
    return Target(app.url, decrypt(app.key_encrypted) if app.key_encrypted else "", public_only=not app.by_instance_admin)


async def ask(app: TaskApp) -> TaskApp:
    """Every endpoint once; keeps the answers and gives the app as it is then."""
    target = await in_reader(target_of, app)
    checks = await probe(target)
    said = await _description(target) if all(check.ok for check in checks) else None
    return await in_writer(keep, app.pk, checks, said)


async def _description(target: Target) -> Description | None:
    try:
        return await describe(TaskAppClient(target.url, target.key, public_only=target.public_only, within_s=10.0))
    except CallFailed as error:
        logger.info("task app does not describe itself cause=%s", error.cause)
        return None


def keep(version_id: uuid.UUID, checks: Sequence[Check], said: Description | None) -> TaskApp:
    """Writes how an app answered. The first time that all is well makes its version ready."""
    told = {"checks": [check.as_dict() for check in checks], "checked_at": timezone.now()}
    version = EnvironmentVersion.objects.filter(id=version_id)
    with transaction.atomic():
        TaskApp.objects.filter(pk=version_id).update(**told)
        if said is not None:
            version.update(manifest=manifest_of(said))
        wrong = next((check for check in checks if not check.ok), None)
        if wrong is None:
            version.exclude(status="ready").update(status="ready", ready_at=timezone.now(), error=None)
        else:
            version.exclude(status="ready").update(status="failed", error=f"{wrong.endpoint}: {wrong.cause}: {wrong.message}"[:4000])
    return TaskApp.objects.select_related("version__environment").get(pk=version_id)


def manifest_of(said: Description) -> dict[str, Any]:
    about = {"size": said.size, "splits": said.splits, "default_split": said.default_split, "lost": said.lost, "version": said.version}
    return {"templates": [said.template()], "capabilities": [], "task_app": about}


async def watch() -> int:
    """For a worker: asks the apps whose time has come, and says how many. Several workers share them."""
    due = await in_writer(take_due)
    results = await asyncio.gather(*(ask(app) for app in due), return_exceptions=True)
    for error in (result for result in results if isinstance(result, Exception)):
        logger.error("a task app could not be asked", exc_info=error)
    return len(due)


def take_due() -> list[TaskApp]:
    """Apps whose check is due, each taken by moving its time on. Of an environment's versions only the newest has a time."""
    due = TaskApp.objects.select_related("version__environment").filter(next_check_at__lte=timezone.now()).order_by("next_check_at")
    return [app for app in due[:AT_ONCE] if TaskApp.objects.filter(pk=app.pk, next_check_at=app.next_check_at).update(next_check_at=_next_check())]


def _next_check() -> Any:
    return timezone.now() + timedelta(seconds=settings.PROCTOR_TASK_APP_POLL)

"""First boot and every boot: migrations with a copy of the file before, the first admin, team and key, model endpoints given by variable.

Everything is idempotent. Secrets made here are printed once and kept in a 0600 file of the data folder (`first-boot.txt`).
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accounts import actions as accounts
from accounts.models import Team, User
from gateway.actions import endpoint_from_text
from web.errors import AppError

logger = logging.getLogger(__name__)
COPIES_KEPT = 3


@dataclass(frozen=True)
class FirstBoot:
    """What was made now, to be shown once."""

    email: str
    password: str | None
    key: str | None


def migrate() -> None:
    """Raises CommandError when the database was written by a newer version."""
    executor = MigrationExecutor(connection)
    refuse_newer(executor)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return
    if connection.vendor == "sqlite" and database_file().exists() and executor.loader.applied_migrations:
        copy_aside()
    call_command("migrate", interactive=False, verbosity=0, stdout=sys.stderr)


def database_file() -> Path:
    return Path(str(settings.DATABASES["default"]["NAME"]))


def refuse_newer(executor: MigrationExecutor) -> None:
    known = set(executor.loader.disk_migrations)
    ours = {app for app, _name in known}
    newer = sorted(f"{app}.{name}" for app, name in executor.loader.applied_migrations if app in ours and (app, name) not in known)
    if newer:
        raise CommandError(f"This data folder was written by a newer Proctor (it has {', '.join(newer[:3])}); start that version, or point PROCTOR_DATA elsewhere.")


def copy_aside() -> None:
    """A consistent copy of the SQLite file; the last three are kept."""
    folder = Path(settings.DATA) / "before-migration"
    folder.mkdir(exist_ok=True)
    with closing(sqlite3.connect(database_file())) as source, closing(sqlite3.connect(folder / f"{int(time.time())}.sqlite3")) as target:
        source.backup(target)
    for old in sorted(folder.glob("*.sqlite3"))[:-COPIES_KEPT]:
        old.unlink()


def first_boot() -> FirstBoot | None:
    """The admin, team and key of a new instance; None when there is a user already. Raises CommandError for unusable variables."""
    if User.objects.exists():
        return None
    email = os.environ.get("PROCTOR_ADMIN_EMAIL") or "admin@localhost"
    password = os.environ.get("PROCTOR_ADMIN_PASSWORD") or secrets.token_urlsafe(12)
    given_key = os.environ.get("PROCTOR_API_KEY") or None
    if given_key is not None and len(given_key) < accounts.MIN_GIVEN_KEY:
        raise CommandError(f"PROCTOR_API_KEY must have at least {accounts.MIN_GIVEN_KEY} characters")
    try:
        user = accounts.create_user(email=email, password=password, name="Admin", is_instance_admin=True)
        team = accounts.create_team(title="Team", owner=user)
        made = accounts.create_key(accounts.owner_caller(team, user), name="first key", scopes=["read", "write", "run", "admin"], given=given_key)
    except AppError as error:
        raise CommandError(f"First boot failed: {error.message}") from error
    boot = FirstBoot(email, None if os.environ.get("PROCTOR_ADMIN_PASSWORD") else password, None if given_key else made.secret)
    keep(boot)
    return boot


def keep(boot: FirstBoot) -> None:
    path = Path(settings.DATA) / "first-boot.txt"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"email: {boot.email}\n" + (f"password: {boot.password}\n" if boot.password else "") + (f"key: {boot.key}\n" if boot.key else ""))


def greeting(made: FirstBoot | None) -> list[str]:
    """The address, and what was made now: the only time that it is shown."""
    lines = [f"Proctor: {settings.PROCTOR_PUBLIC_URL}"]
    if made is not None:
        lines.append(f"Sign in as {made.email}" + (f" with the password {made.password}" if made.password else ""))
        lines += [f"API key (shown this once): {made.key}"] if made.key else []
        lines.append(f"Both are also in {Path(settings.DATA) / 'first-boot.txt'}, which only you can read")
    return lines


def model_endpoints() -> None:
    """`PROCTOR_MODEL_ENDPOINT=pattern|url|key`, several separated by white space; made once per pattern."""
    text = os.environ.get("PROCTOR_MODEL_ENDPOINT", "").strip()
    user = User.objects.filter(is_instance_admin=True).order_by("created_at").first()
    team = Team.objects.order_by("created_at").first()
    if not text or user is None or team is None:
        return
    for part in text.split():
        try:
            endpoint_from_text(accounts.owner_caller(team, user), part)
        except AppError as error:
            if error.status != 409:
                raise CommandError(f"PROCTOR_MODEL_ENDPOINT: {error.message}") from error

"""The cast is always the same: Ada owns a team, Bo is a member of it, Cy is a stranger with a team of his own."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if "PROCTOR_DATA" not in os.environ:
    os.environ["PROCTOR_DATA"] = tempfile.mkdtemp(prefix="proctor-test-")
    atexit.register(shutil.rmtree, os.environ["PROCTOR_DATA"], ignore_errors=True)

import pytest
from django.test import Client

from accounts import actions
from accounts.callers import Caller
from accounts.models import Team, User
from accounts.queries import caller_for_key, caller_for_user

# A shell that starts us in the background has SIGINT ignored, and what we start would inherit that: no Ctrl-C could be tried.
signal.signal(signal.SIGINT, signal.default_int_handler)

PASSWORD = "correct horse battery"


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a body by its argument: an archive's bytes hold the second it was packed in, and pytest-xdist's workers
    must collect the same names."""
    return argname if isinstance(val, bytes) and len(val) > 40 else None


@dataclass(frozen=True)
class Person:
    user: User
    team: Team
    caller: Caller
    key: str


def make_person(email: str, team_title: str) -> Person:
    user = actions.create_user(email=email, password=PASSWORD, is_instance_admin=email.startswith("ada"))
    team = actions.create_team(title=team_title, owner=user)
    made = actions.create_key(actions.owner_caller(team, user), name="test", scopes=["read", "write", "run", "admin"])
    return Person(user, team, caller_for_key(made.secret), made.secret)


@pytest.fixture(autouse=True)
def fast_passwords(settings: object) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # type: ignore[attr-defined]


@pytest.fixture
def blobs(settings: Any, tmp_path: Path) -> Path:
    """Where files are kept: a folder of the test's own."""
    backend = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path / "blobs")}}
    settings.STORAGES = {**settings.STORAGES, "default": backend}
    return tmp_path / "blobs"


@pytest.fixture
def ada_person(db: None) -> Person:
    return make_person("ada@example.test", "Aurora")


@pytest.fixture
def ada(ada_person: Person) -> Caller:
    return ada_person.caller


@pytest.fixture
def ada_key(ada_person: Person) -> str:
    return ada_person.key


@pytest.fixture
def bo(ada_person: Person) -> Caller:
    user = actions.create_user(email="bo@example.test", password=PASSWORD)
    actions.add_member(ada_person.caller, user=user, role="member")
    return caller_for_user(user, None)


@pytest.fixture
def cy_person(db: None) -> Person:
    return make_person("cy@example.test", "Cygnus")


@pytest.fixture
def cy(cy_person: Person) -> Caller:
    return cy_person.caller


@pytest.fixture
def cy_key(cy_person: Person) -> str:
    return cy_person.key


@pytest.fixture
def client_for() -> Callable[[str], Client]:
    """A client that sends a key with each request."""
    return lambda key: Client(headers={"authorization": f"Bearer {key}"})

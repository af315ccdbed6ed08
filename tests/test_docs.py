"""The reference pages say what the code does: settings, routes, errors, limits, outcomes, commands, promises."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from proctor.rollout.errors import _BLAME
from proctor.rollout.plan import Deadlines

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
CODE = ("platform", "tasksets", "runs", "scripts", "bench", "frontend/vite.config.ts", "Makefile", ".ci", "tests")
TESTS_OWN = {"PROCTOR_TALLY"}
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def page(name: str) -> str:
    return (REFERENCE / name).read_text()


def files(*rooms: str) -> Iterator[Path]:
    for room in rooms:
        path = ROOT / room
        yield from (found for found in ([path] if path.is_file() else path.rglob("*")) if found.is_file() and found.suffix in (".py", ".ts", ".sh", ""))


@cache
def code(*rooms: str) -> str:
    return "\n".join(path.read_text(errors="ignore") for path in files(*rooms) if path.name != "test_docs.py")


def variables_read() -> set[str]:
    python = re.findall(r'(?:environ(?:\.get|\.setdefault|\.pop)?|getenv)[\[(]\s*"(PROCTOR_[A-Z_]+)"', code(*CODE))
    python += re.findall(r'envvar="(PROCTOR_[A-Z_]+)"', code(*CODE))
    other = re.findall(r"(?:\$\{?|process\.env\.)(PROCTOR_[A-Z_]+)", code(*CODE))
    return {*python, *other}


def test_every_variable_that_is_read_stands_in_the_settings() -> None:
    assert variables_read() - TESTS_OWN - set(re.findall(r"`(PROCTOR_[A-Z_]+)`", page("settings.md"))) == set()


def test_every_variable_in_the_settings_is_read() -> None:
    assert set(re.findall(r"`(PROCTOR_[A-Z_]+)`", page("settings.md"))) - variables_read() == set()


def routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[str]:
    for pattern in (resolver or get_resolver()).url_patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern, path)
        elif isinstance(pattern, URLPattern) and not path.startswith("^"):
            yield "/" + re.sub(r"<[^>]+>", "{}", path)


def documented_routes() -> set[str]:
    """Paths in back quotes, with or without a method; placeholders without their names."""
    found = re.findall(r"`(?:(?:GET|POST|PATCH|PUT|DELETE) )?(/[^\s`?,]*)", page("api.md") + page("hud-routes.md"))
    return {re.sub(r"\{[^}]+\}", "{}", path) for path in found}


def test_every_route_is_documented() -> None:
    assert set(routes()) - documented_routes() == set()


def test_every_documented_route_is_served() -> None:
    named = {path for path in documented_routes() if path.startswith(("/api/", "/v2/", "/v3/", "/auth/", "/gateway/"))}
    assert named - set(routes()) == set()


def test_every_error_code_is_documented() -> None:
    raised = set(re.findall(r'AppError\(\s*"([a-z_]+)"', code("platform", "tasksets", "runs")))
    assert raised - set(re.findall(r"`([a-z_]+)`", page("errors.md"))) == set()


def test_every_limit_is_documented_with_its_value() -> None:
    text = page("limits.md")
    for name, value in settings.PROCTOR_LIMITS.items():
        shown = f"{value // 1024**2} MiB" if name.endswith("_bytes") else f"{value:,}"
        assert re.search(rf"\| {re.escape(shown)} \| `{name}` \|", text), name


def test_every_deadline_is_documented_with_its_value() -> None:
    text = page("limits.md")
    values = [getattr(Deadlines(), field.name) for field in dataclasses.fields(Deadlines)]
    assert [value for value in values if value is not None and f"| {value:,.0f} |" not in text] == []


def test_every_failure_class_is_documented() -> None:
    named = re.findall(r'(?:RolloutFailed\(\s*|Failure\(\s*|failure_class=)"([a-z_]+)"', code("platform", "runs"))
    assert {*named, *_BLAME} - set(re.findall(r"(?m)^\| `([a-z_]+)` \|", page("outcomes.md"))) == set()


def test_every_management_command_is_documented() -> None:
    commands = {path.stem for path in (ROOT / "platform/config/management/commands").glob("*.py")} - {"__init__"}
    text = (ROOT / "docs/guide/operations.md").read_text()
    assert {command for command in commands if f"manage.py {command}" not in text} == set()


def test_every_make_target_is_documented() -> None:
    targets = set(re.findall(r"(?m)^([a-z0-9-]+):", (ROOT / "Makefile").read_text())) - {"help"}
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert {target for target in targets if f"`make {target}`" not in text} == set()


def test_every_promise_names_tests_that_are_there() -> None:
    text = page("promises.md")
    promises = re.split(r"(?m)^\d+\. ", text)[1:]
    assert len(promises) == 10
    for promise in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", promise)
        assert named, promise
        missing = [test for path, test in named if not (ROOT / path).exists() or f"def {test}(" not in (ROOT / path).read_text()]
        assert missing == []


def test_every_row_of_compatibility_names_tests_that_are_there() -> None:
    rows = re.findall(r"(?m)^\| .* \| (.*::.*) \|$", page("compatibility.md"))
    named = [re.fullmatch(r"`([\w/]+\.py)::(test_\w+)`", test) for row in rows for test in row.split(", ")]
    assert rows and all(named)
    missing = [f"{path}::{test}" for path, test in (found.groups() for found in named if found) if f"def {test}(" not in (ROOT / "tests" / path).read_text()]
    assert missing == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []

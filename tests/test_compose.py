"""The compose file: who gets the Docker socket, who meets the sandboxes, and that it runs commands and settings that exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"])


def test_only_the_worker_gets_the_docker_socket(services: dict[str, Any]) -> None:
    assert [name for name, service in services.items() if any("docker.sock" in volume for volume in service.get("volumes", []))] == ["worker"]


def test_only_the_worker_is_on_the_network_of_the_sandboxes(services: dict[str, Any]) -> None:
    assert [name for name, service in services.items() if "sandboxes" in service.get("networks", [])] == ["worker"]
    assert services["worker"]["environment"]["PROCTOR_SANDBOX_NETWORK"] == "proctor-sandboxes"
    assert services["worker"]["environment"]["PROCTOR_RELAY_HOST"] == "0.0.0.0", "the web process reaches them through the worker alone"


def test_web_and_worker_share_database_redis_and_secrets(services: dict[str, Any]) -> None:
    for name in ("prepare", "web", "worker"):
        assert services[name]["environment"]["PROCTOR_DATABASE_URL"].startswith("postgres://proctor:proctor@postgres:")
        assert services[name]["environment"]["PROCTOR_REDIS_URL"].startswith("redis://redis:")
        assert "data:/data" in services[name]["volumes"]


def test_every_command_is_one_of_ours(services: dict[str, Any]) -> None:
    ours = [service["command"][2] for service in services.values() if service.get("command", [""])[0] == "python"]
    assert len(ours) == 3 and set(ours) <= set(get_commands())


def test_the_database_is_migrated_before_anything_starts(services: dict[str, Any]) -> None:
    assert services["prepare"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    for name in ("web", "worker"):
        assert services[name]["depends_on"]["prepare"]["condition"] == "service_completed_successfully"


def test_the_image_holds_every_room_that_the_server_imports() -> None:
    dockerfile, let_in = (ROOT / "Dockerfile").read_text(), (ROOT / ".dockerignore").read_text().splitlines()
    for room in ("platform", "tasksets", "runs"):
        assert f"COPY {room}/ {room}/" in dockerfile and f"!{room}" in let_in

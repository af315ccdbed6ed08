"""HUD's deploy over HTTP: a place, a context, an order, a state; what is refused, and that teams are walls."""

from __future__ import annotations

import io
import json
import tarfile
import uuid
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from accounts.actions import create_project
from accounts.callers import Caller
from accounts.models import AuditEvent
from environments import actions, claims, deploy
from environments.models import ContextUpload, Environment, EnvironmentVersion
from environments.variables import values_of
from tests.support.environments import add_log

FILES = {"Dockerfile.hud": "FROM scratch\n", "env.py": "env = 1\n"}


@pytest.fixture(autouse=True)
def storage(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


def context(**files: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in (files or FILES).items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


class Deploys:
    """The calls of `hud deploy`, with one key."""

    def __init__(self, key: str) -> None:
        self.client = Client(headers={"authorization": f"Bearer {key}"})

    def reserve(self) -> dict[str, str]:
        reply: dict[str, str] = self.client.post("/v2/builds/upload-url").json()
        return reply

    def put(self, place: dict[str, str], body: bytes) -> Any:
        """Without a key, as the client does."""
        return Client().put(urlsplit(place["upload_url"]).path, body, content_type="application/gzip")

    def trigger(self, build_id: str, **more: Any) -> Any:
        body = {"source": "direct", "build_id": build_id, "name": "Letters", "no_cache": False, **more}
        return self.client.post("/v2/builds/trigger", json.dumps(body), content_type="application/json")

    def placed(self, body: bytes | None = None) -> str:
        place = self.reserve()
        assert self.put(place, body or context()).status_code == 200
        return place["build_id"]

    def deployed(self, **more: Any) -> EnvironmentVersion:
        reply = self.trigger(self.placed(), **more)
        assert reply.status_code == 200, reply.content
        return EnvironmentVersion.objects.select_related("environment").get(id=reply.json()["id"])

    def status(self, build_id: object) -> Any:
        return self.client.get(f"/v2/builds/{build_id}/status")


@pytest.fixture
def hud(ada_key: str) -> Deploys:
    return Deploys(ada_key)


def test_a_context_is_placed_and_ordered_and_its_state_is_told(hud: Deploys) -> None:
    build_id = hud.placed()
    reply = hud.trigger(build_id, no_cache=True, build_args={"A": "1"})
    version = EnvironmentVersion.objects.get(id=build_id)
    assert reply.json() == {"id": build_id, "registry_id": str(version.environment_id)}
    assert (version.environment.name, version.environment.title, version.number, version.source) == ("letters", "Letters", 1, "build")
    assert (version.no_cache, version.build_args) == (True, {"A": "1"}) and version.context_path and default_storage.exists(version.context_path)
    assert hud.status(build_id).json() == {"id": build_id, "registry_id": str(version.environment_id), "status": "IN_PROGRESS", "version": "1"}
    assert ContextUpload.objects.count() == 0

    EnvironmentVersion.objects.update(
        status="ready", image="letters:1", image_id="sha256:1", manifest={"templates": [{"id": "count"}], "capabilities": ["shell"]}
    )
    told = hud.status(build_id).json()
    assert (told["status"], told["uri"]) == ("SUCCEEDED", "letters:1@sha256:1")
    assert told["manifest"] == {"tasks": [{"id": "count"}], "capabilities": [{"name": "shell"}]}


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({"status": "failed", "error": "no"}, "FAILED"),
        ({"status": "cancelled"}, "CANCELLED"),
        ({"cancel_requested_at": timezone.now()}, "CANCELLING"),
    ],
)
def test_every_end_has_huds_word(hud: Deploys, facts: dict[str, Any], word: str) -> None:
    version = hud.deployed()
    EnvironmentVersion.objects.update(**facts)
    told = hud.status(version.id).json()
    assert told["status"] == word and told.get("error_message") == facts.get("error")


def test_an_order_sent_again_makes_nothing_new(hud: Deploys) -> None:
    build_id = hud.placed()
    first, second = hud.trigger(build_id), hud.trigger(build_id)
    assert first.json() == second.json() and EnvironmentVersion.objects.count() == 1


def test_the_same_name_makes_the_next_version(hud: Deploys) -> None:
    first, second = hud.deployed(), hud.deployed(registry_id=None)
    assert (first.environment_id, second.number) == (second.environment_id, 2)
    assert hud.deployed(registry_id=str(first.environment_id)).number == 3


def test_variables_are_upserted_and_never_shown(hud: Deploys) -> None:
    environment = hud.deployed(environment_variables={"FOO": "bar", "KEEP": "me"}).environment
    hud.deployed(environment_variables={"FOO": "new"})
    assert values_of(environment.id) == {"FOO": "new", "KEEP": "me"}
    shown = hud.client.get("/api/environments/letters/variables")
    assert [item["name"] for item in shown.json()["items"]] == ["FOO", "KEEP"] and b"new" not in shown.content
    assert "new" not in str(list(environment.variables.values_list("value_encrypted", flat=True)))
    assert all("new" not in str(event.facts) for event in AuditEvent.objects.all())


def test_variables_are_set_and_removed_over_the_native_api(hud: Deploys) -> None:
    environment = hud.deployed().environment
    put = hud.client.put("/api/environments/letters/variables", json.dumps({"values": {"A": "1", "B": "2"}}), content_type="application/json")
    assert put.status_code == 200 and values_of(environment.id) == {"A": "1", "B": "2"}
    assert hud.client.delete("/api/environments/letters/variables/A").status_code == 204
    assert hud.client.delete("/api/environments/letters/variables/A").status_code == 404
    assert values_of(environment.id) == {"B": "2"}


@pytest.mark.parametrize("values", [{"1A": "x"}, {"A-B": "x"}, {"": "x"}, {"A": "top secret\0"}, {"A": "x" * 40_000}, {f"V{n}": "" for n in range(201)}])
def test_bad_variables_are_refused_without_their_values(hud: Deploys, values: dict[str, str]) -> None:
    reply = hud.trigger(hud.placed(), environment_variables=values)
    assert reply.status_code == 422 and b"top secret" not in reply.content and EnvironmentVersion.objects.count() == 0


def test_build_secrets_are_encrypted_and_gone_when_the_version_ends(hud: Deploys) -> None:
    version = hud.deployed(build_secrets={"TOKEN": "hunter2hunter2"})
    assert version.build_secrets_encrypted and "hunter2" not in version.build_secrets_encrypted
    claim = claims.claim_next("w1")
    assert claim is not None and claim.build_secrets == {"TOKEN": "hunter2hunter2"} and "hunter2" not in repr(claim)
    claims.finish_version(claim, log="", error="no")
    version.refresh_from_db()
    assert version.build_secrets_encrypted == ""


def test_a_runtime_config_is_kept_for_runs(hud: Deploys) -> None:
    version = hud.deployed(runtime_config={"resources": {"cpu": 2}}, runtime_provider="hud")
    assert Environment.objects.get(id=version.environment_id).runtime_config == {"resources": {"cpu": 2}}
    assert hud.trigger(hud.placed(), runtime_provider="modal").status_code == 422


def test_an_environment_is_made_in_the_project_asked_for_and_stays_there(hud: Deploys, ada: Caller) -> None:
    project = create_project(ada, name="Side")
    assert hud.deployed(project_id=str(project.id)).environment.project_id == project.id
    assert hud.deployed().environment.project_id == project.id
    other = create_project(ada, name="Other")
    assert hud.trigger(hud.placed(), project_id=str(other.id)).status_code == 409
    assert hud.trigger(hud.placed(), project_id=str(uuid.uuid4())).status_code == 404


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"name": "///"}, 422),
        ({"name": "other", "registry_id": "own"}, 409),
        ({"registry_id": str(uuid.uuid4())}, 404),
        ({"build_args": {"A": 1}}, 422),
        ({"build_secrets": {"": "x"}}, 422),
        ({"build_secrets": ["x"]}, 422),
    ],
)
def test_a_bad_order_is_refused_and_builds_nothing(hud: Deploys, change: dict[str, Any], status: int) -> None:
    environment = hud.deployed().environment
    change = {name: str(environment.id) if value == "own" else value for name, value in change.items()}
    assert hud.trigger(hud.placed(), **change).status_code == status
    assert EnvironmentVersion.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"not a tar at all", "not a readable tar"),
        (context(**{"env.py": "x"}), "no Dockerfile"),
        (context(**{"Dockerfile": "FROM scratch", "../up": "x"}), "out of the archive"),
    ],
)
def test_what_is_no_build_context_is_refused_when_it_is_ordered(hud: Deploys, body: bytes, said: str) -> None:
    reply = hud.trigger(hud.placed(body))
    assert reply.status_code == 422 and said in reply.json()["detail"]


def test_an_order_before_its_context_is_refused(hud: Deploys) -> None:
    assert hud.trigger(hud.reserve()["build_id"]).status_code == 409
    assert hud.trigger(str(uuid.uuid4())).status_code == 404
    assert hud.trigger("nonsense").status_code == 404


def test_a_second_context_replaces_the_first(hud: Deploys) -> None:
    place = hud.reserve()
    hud.put(place, b"rubbish")
    first = ContextUpload.objects.get().path
    assert hud.put(place, context()).status_code == 200 and first and not default_storage.exists(first)
    assert hud.trigger(place["build_id"]).status_code == 200


def test_a_signed_place_takes_nothing_but_its_context(hud: Deploys, settings: Any) -> None:
    place = hud.reserve()
    path = urlsplit(place["upload_url"]).path
    assert Client().get(path).status_code == 405
    assert Client().put(path + "x", context()).status_code == 404
    settings.PROCTOR_LIMITS = {**settings.PROCTOR_LIMITS, "upload_bytes": 100}
    assert hud.put(place, context()).status_code == 413
    settings.PROCTOR_LIMITS = {**settings.PROCTOR_LIMITS, "upload_bytes": 10_000}
    assert hud.trigger(hud.placed()).status_code == 200
    assert hud.put(place, context()).status_code == 200
    hud.trigger(place["build_id"])
    assert hud.put(place, context()).status_code == 404, "its build was ordered"


def test_contexts_that_nobody_orders_are_dropped_after_a_day(hud: Deploys) -> None:
    hud.placed()
    kept = hud.placed()
    oldest = ContextUpload.objects.exclude(id=kept).get()
    ContextUpload.objects.filter(id=oldest.id).update(created_at=timezone.now() - timedelta(days=2))
    assert deploy.drop_old_contexts() == 1
    assert oldest.path and not default_storage.exists(oldest.path) and str(ContextUpload.objects.get().id) == kept


def test_a_folder_environment_of_that_name_is_not_overwritten(hud: Deploys, ada: Caller) -> None:
    environment = actions.register_image(ada, name="letters", image="a:1").environment
    Environment.objects.filter(id=environment.id).update(kind="folder")
    assert hud.trigger(hud.placed()).status_code == 409


def test_another_team_sees_and_changes_nothing(hud: Deploys, cy_key: str) -> None:
    version, cy = hud.deployed(environment_variables={"A": "1"}), Deploys(cy_key)
    placed = hud.placed()
    assert cy.trigger(placed).status_code == 404
    assert cy.trigger(str(version.id)).status_code == 404
    assert cy.trigger(cy.placed(), registry_id=str(version.environment_id)).status_code == 404
    assert cy.status(version.id).status_code == 404
    assert cy.client.post(f"/v2/builds/{version.id}/cancel").status_code == 404
    for method, path in (("get", "variables"), ("delete", "variables/A"), ("post", "versions/1/cancel"), ("get", "versions/1/log")):
        assert getattr(cy.client, method)(f"/api/environments/{version.environment_id}/{path}").status_code == 404
    assert values_of(version.environment_id) == {"A": "1"}


def test_a_viewer_deploys_and_cancels_nothing(hud: Deploys, ada: Caller, bo: Caller) -> None:
    from accounts.actions import create_key

    version = hud.deployed()
    reader = Deploys(create_key(ada, name="reader", scopes=["read"]).secret)
    assert reader.client.post("/v2/builds/upload-url").status_code == 403
    assert reader.client.post(f"/v2/builds/{version.id}/cancel").status_code == 403
    assert reader.client.delete("/api/environments/letters/variables/A").status_code == 403
    assert reader.client.put("/api/environments/letters/variables", "{}", content_type="application/json").status_code == 403
    assert reader.status(version.id).status_code == 200


def test_the_whole_log_is_text(hud: Deploys) -> None:
    version = hud.deployed()
    add_log(version, "Step 1/2\n", "Step 2/2\n")
    reply = hud.client.get("/api/environments/letters/versions/1/log")
    assert (reply.content, reply["Content-Type"]) == (b"Step 1/2\nStep 2/2\n", "text/plain; charset=utf-8")

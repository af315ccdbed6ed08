"""Environments: registered from an image or a folder, listed, numbered, and readable by their own team alone."""

from __future__ import annotations

import io
import json
import tarfile
import uuid
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.actions import create_key
from accounts.callers import Caller
from accounts.models import AuditEvent
from environments import actions, queries
from environments.models import Environment, EnvironmentVersion
from proctor.rollout.images import sample_tag
from tests.support.environments import add_log

TEMPLATES = [{"id": "solve", "description": "Solve it", "args": {"type": "object"}}]


@pytest.fixture(autouse=True)
def storage(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def get(key: str, path: str) -> Any:
    return Client().get(path, headers=bearer(key))


def post_image(key: str, **body: Any) -> Any:
    return Client().post("/api/environments", json.dumps(body), content_type="application/json", headers=bearer(key))


def post_tar(key: str, body: bytes, name: str | None = "letters", kind: str = "application/x-tar", **headers: str) -> Any:
    query = "" if name is None else f"?name={name}"
    return Client().post(f"/api/environments{query}", body, content_type=kind, headers=bearer(key) | headers)


def tar(files: dict[str, str], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def ready(version: EnvironmentVersion, **facts: Any) -> EnvironmentVersion:
    EnvironmentVersion.objects.filter(id=version.id).update(
        status="ready", manifest={"templates": TEMPLATES, "capabilities": ["shell"]}, **facts
    )
    version.refresh_from_db()
    return version


def test_an_image_is_registered_and_waits_for_a_worker(ada_key: str) -> None:
    reply = post_image(ada_key, name="My Letters", image="team/letters:1")
    assert reply.status_code == 202
    body = reply.json()
    assert (body["name"], body["title"], body["kind"], body["version_count"], body["ready"]) == ("my-letters", "My Letters", "hud", 1, None)
    assert {key: body["latest"][key] for key in ("number", "status", "source", "image", "image_id", "error", "log")} == {
        "number": 1, "status": "pending", "source": "image", "image": "team/letters:1", "image_id": None, "error": None, "log": None,
    }  # fmt: skip
    assert get(ada_key, f"/api/environments/{body['id']}").json() == get(ada_key, "/api/environments/My_Letters").json() == body


def test_the_same_name_makes_the_next_version_of_the_same_environment(ada_key: str) -> None:
    first = post_image(ada_key, name="letters", image="a:1").json()
    second = post_image(ada_key, name=" LETTERS ", image="a:2").json()
    assert (first["id"], first["title"]) == (second["id"], second["title"])
    assert (second["latest"]["number"], second["version_count"]) == (2, 2)
    assert list(AuditEvent.objects.filter(object_kind="environment").order_by("id").values_list("verb", flat=True)) == [
        "environment.create", "environment.version", "environment.version",
    ]  # fmt: skip


def test_latest_and_ready_may_be_different_versions(ada: Caller, ada_key: str) -> None:
    ready(actions.register_image(ada, name="letters", image="a:1"))
    actions.register_image(ada, name="letters", image="a:2")
    body = get(ada_key, "/api/environments/letters").json()
    assert (body["latest"]["number"], body["ready"]["number"]) == (2, 1)
    assert body["ready"]["templates"] == TEMPLATES and body["ready"]["capabilities"] == ["shell"]


def test_a_tar_is_stored_as_it_is_and_waits_to_be_built(ada_key: str) -> None:
    for mode, kind in (("w", "application/x-tar"), ("w:gz", "application/gzip")):
        body = tar({"Dockerfile": "FROM scratch"}, mode)
        reply = post_tar(ada_key, body, kind=kind)
        assert reply.status_code == 202 and reply.json()["latest"]["source"] == "build"
        version = EnvironmentVersion.objects.get(id=reply.json()["latest"]["id"])
        with default_storage.open(version.context_path or "") as stored:
            assert stored.read() == body


def test_build_arguments_and_no_cache_stand_in_the_address(ada_key: str) -> None:
    body, query = tar({"Dockerfile": "FROM scratch"}), "name=letters&build_arg=A=1%3D2&build_arg=B=&no_cache=1"
    reply = Client().post(f"/api/environments?{query}", body, content_type="application/x-tar", headers={"authorization": f"Bearer {ada_key}"})
    version = EnvironmentVersion.objects.get(id=reply.json()["latest"]["id"])
    assert (version.build_args, version.no_cache) == ({"A": "1=2", "B": ""}, True)


@pytest.mark.parametrize("query", ["build_arg=A", "build_arg==1", "build_arg=A%20B=1", "build_arg=A=%00", "&".join("build_arg=A=1" for _ in range(201))])
def test_bad_build_arguments_are_refused_with_their_place(query: str, ada_key: str) -> None:
    body = tar({"Dockerfile": "FROM scratch"})
    reply = Client().post(f"/api/environments?name=letters&{query}", body, content_type="application/x-tar", headers={"authorization": f"Bearer {ada_key}"})
    assert reply.status_code == 422 and reply.json()["detail"].startswith("build_arg") and not Environment.objects.exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"no tar at all", "not a readable tar"),
        (b"\x1f\x8b\x08\x00cut", "not a readable tar"),
        (tar({"readme.md": "x"}), "no Dockerfile"),
        (tar({"Dockerfile": "FROM scratch", "../../etc/passwd": "x"}), "leads out"),
    ],
)
def test_what_is_no_build_context_is_refused_and_nothing_is_kept(body: bytes, said: str, ada_key: str) -> None:
    reply = post_tar(ada_key, body)
    assert reply.status_code == 422 and said in reply.json()["detail"]
    assert not Environment.objects.exists()
    assert not default_storage.exists("contexts") or default_storage.listdir("contexts")[1] == []


def test_a_tar_over_the_limit_is_413_announced_or_not(ada_key: str, settings: Any) -> None:
    settings.PROCTOR_LIMITS = {**settings.PROCTOR_LIMITS, "upload_bytes": 100}
    reply = post_tar(ada_key, tar({"Dockerfile": "FROM scratch"}))
    assert reply.status_code == 413 and reply.json()["error"]["details"]["limit"] == "upload_bytes"
    assert not Environment.objects.exists()


def test_a_body_longer_than_the_limit_is_cut_off_while_it_is_read(ada: Caller, settings: Any) -> None:
    settings.PROCTOR_LIMITS = {**settings.PROCTOR_LIMITS, "upload_bytes": 100}
    with pytest.raises(Exception, match="larger than the limit"):
        actions.register_context(ada, name="letters", body=io.BytesIO(b"x" * 101))


def test_a_body_that_ends_early_is_refused(ada: Caller) -> None:
    with pytest.raises(Exception, match="ended after"):
        actions.register_context(ada, name="letters", body=io.BytesIO(b"x"), announced=2)


def test_a_tar_needs_a_name_and_a_known_type(ada_key: str) -> None:
    body = tar({"Dockerfile": "FROM scratch"})
    assert "name" in post_tar(ada_key, body, name=None).json()["detail"]
    assert post_tar(ada_key, body, kind="text/plain").status_code == 415


@pytest.mark.parametrize("name", ["", "!!!", "a/b", "x@3", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b58cc4372a5670e02b2c3d479", "x" * 101])
def test_a_name_that_is_no_name_is_refused(name: str, ada_key: str) -> None:
    assert post_image(ada_key, name=name, image="a:1").status_code == 422
    assert post_tar(ada_key, tar({"Dockerfile": "FROM scratch"}), name=name).status_code == 422


@pytest.mark.parametrize("image", ["", "two words", "-v/:/host", "a:1\n", "x" * 513])
def test_an_image_that_is_no_reference_is_refused(image: str, ada_key: str) -> None:
    reply = post_image(ada_key, name="letters", image=image)
    assert reply.status_code == 422 and reply.json()["error"]["details"]["problems"][0]["path"] == "image"


def test_bad_bodies_are_clear_errors(ada_key: str) -> None:
    assert post_image(ada_key, name="letters").status_code == 422
    assert post_image(ada_key, name="letters", image="a:1", command="rm").status_code == 422
    assert Client().post("/api/environments", b"{", content_type="application/json", headers=bearer(ada_key)).status_code == 400


def test_versions_are_listed_newest_first_and_the_log_is_on_a_versions_own_page(ada: Caller, ada_key: str) -> None:
    for number in (1, 2, 3):
        add_log(ready(actions.register_image(ada, name="letters", image=f"a:{number}")), "Step 1/1", "\nStep 2/2\n")
    page = get(ada_key, "/api/environments/letters/versions?limit=2").json()
    assert [item["number"] for item in page["items"]] == [3, 2] and page["total"] == 3
    assert {item["log"] for item in page["items"]} == {None}
    rest = get(ada_key, f"/api/environments/letters/versions?limit=2&cursor={page['next_cursor']}").json()
    assert [item["number"] for item in rest["items"]] == [1] and rest["next_cursor"] is None
    assert get(ada_key, "/api/environments/letters/versions/2").json()["log"] == "Step 1/1\nStep 2/2\n"
    assert get(ada_key, "/api/environments/letters/versions/9").status_code == 404


def test_the_list_takes_as_many_queries_for_many_as_for_one(ada: Caller, ada_key: str) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries_made:
            assert get(ada_key, "/api/environments").status_code == 200
        return len(queries_made)

    ready(actions.register_image(ada, name="one", image="a:1"))
    count()  # notes when the key was last used
    for_one = count()
    for number in range(5):
        ready(actions.register_image(ada, name=f"more-{number}", image="a:1"))
    assert count() == for_one


def test_the_list_is_searched_and_paged_by_name(ada: Caller, ada_key: str) -> None:
    for name in ("gamma", "alpha", "beta"):
        actions.register_image(ada, name=name, image="a:1")
    first = get(ada_key, "/api/environments?limit=2").json()
    second = get(ada_key, f"/api/environments?limit=2&cursor={first['next_cursor']}").json()
    assert [item["name"] for item in first["items"] + second["items"]] == ["alpha", "beta", "gamma"]
    assert [item["name"] for item in get(ada_key, "/api/environments?q=amm").json()["items"]] == ["gamma"]


def test_another_teams_environment_is_not_there(ada: Caller, cy: Caller, cy_key: str) -> None:
    version = ready(actions.register_image(ada, name="letters", image="a:1"))
    for path in (f"/api/environments/{version.environment_id}", "/api/environments/letters", "/api/environments/letters/versions",
                 "/api/environments/letters/versions/1", f"/v2/registry/{version.environment_id}"):  # fmt: skip
        assert get(cy_key, path).status_code == 404, path
    assert get(cy_key, "/api/environments").json()["items"] == []
    assert get(cy_key, "/v2/registry?limit=500").json() == {"items": [], "total": 0}
    assert queries.newest_ready(cy.team_id, "letters") is None and queries.find_names(cy.team_id) == []
    mine = actions.register_image(cy, name="letters", image="b:1")
    assert mine.number == 1 and mine.environment_id != version.environment_id


def test_without_the_scope_write_nothing_is_registered(ada: Caller) -> None:
    reader = create_key(ada, name="reader", scopes=["read"]).secret
    assert post_image(reader, name="letters", image="a:1").status_code == 403
    assert post_tar(reader, tar({"Dockerfile": "FROM scratch"})).status_code == 403
    assert Client().get("/api/environments").status_code == 401


def test_a_job_gets_the_newest_version_that_is_ready_by_any_spelling_of_the_name(ada: Caller) -> None:
    assert queries.newest_ready(ada.team_id, "letters") is None
    first = ready(actions.register_image(ada, name="My Letters", image="a:1"))
    second = ready(actions.register_image(ada, name="my-letters", image="a:2"))
    third = actions.register_image(ada, name="my-letters", image="a:3")
    EnvironmentVersion.objects.filter(id=third.id).update(status="failed")
    found = queries.newest_ready(ada.team_id, "my_letters")
    assert found == second and found != first
    assert queries.find_names(ada.team_id) == ["my-letters"]
    assert queries.get_version(first.id).environment.name == "my-letters"


def test_hud_finds_environments_by_search_and_by_id(ada: Caller, ada_key: str) -> None:
    row = actions.register_image(ada, name="Letters", image="a:1").environment
    actions.register_image(ada, name="numbers", image="a:1")
    page = get(ada_key, "/v2/registry?search=letters&limit=500").json()
    assert [(item["id"], item["name"]) for item in page["items"]] == [(str(row.id), "letters")] and page["total"] == 1
    assert [item["name"] for item in get(ada_key, "/v2/registry?limit=500&offset=0&sort_by=date").json()["items"]] == ["numbers", "letters"]
    assert get(ada_key, "/v2/registry?limit=500&offset=2").json() == {"items": [], "total": 2}
    assert get(ada_key, f"/v2/registry/{row.id}").json()["name"] == "letters"
    assert get(ada_key, f"/v2/registry/{uuid.uuid4()}").status_code == 404


def test_the_sample_is_ready_at_once_and_registering_it_again_changes_nothing(ada: Caller) -> None:
    first = actions.register_sample(ada.team_id)
    assert first is not None
    assert (first.status, first.number, first.source, first.image, first.environment.is_sample) == ("ready", 1, "sample", "", True)
    assert [template["id"] for template in first.manifest["templates"]] == ["solve"]
    assert first.command[-1].endswith("gsm8k/env.py")
    again = actions.register_sample(ada.team_id)
    assert again == first and EnvironmentVersion.objects.count() == 1


def test_the_sample_gets_its_image_once_there_is_one_and_keeps_it(ada: Caller) -> None:
    first = actions.register_sample(ada.team_id)
    with_image = actions.register_sample(ada.team_id, image="proctor-sample:1", image_id="sha256:1")
    kept = actions.register_sample(ada.team_id)
    assert first == with_image == kept and kept is not None
    assert (kept.image, kept.image_id) == ("proctor-sample:1", "sha256:1")


def test_a_changed_sample_is_a_new_version(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    actions.register_sample(ada.team_id)
    monkeypatch.setattr(actions, "sample_tag", lambda: sample_tag() + "-changed")
    changed = actions.register_sample(ada.team_id)
    assert changed is not None and changed.number == 2


def test_the_sample_leaves_an_environment_of_the_teams_own_alone(ada: Caller) -> None:
    mine = actions.register_image(ada, name="gsm8k", image="a:1")
    assert actions.register_sample(ada.team_id) is None
    assert list(EnvironmentVersion.objects.all()) == [mine]

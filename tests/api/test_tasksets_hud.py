"""HUD's taskset endpoints: what goes in comes out, uploads merge by slug, and every refusal is clear."""

from __future__ import annotations

import gzip
import json
import threading
import uuid
import zlib
from typing import Any

import pytest
import zstandard
from django.core.files.storage import default_storage
from django.test import TestCase, override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.callers import Caller
from accounts.models import AuditEvent, Project
from tasksets import exports
from tasksets.models import Chunk, Export, TaskContent, Taskset, Version
from tests.support.tasksets import Api, body_of, row

pytestmark = pytest.mark.usefixtures("blobs")


@pytest.fixture
def api(ada_key: str) -> Api:
    return Api(ada_key)


def test_a_new_name_makes_a_set_and_the_export_gives_its_rows(api: Api) -> None:
    made = api.upload("My Set", row("a", args={"word": "x"}), row("b", columns={"n": 1}))
    assert made.status_code == 200
    reply = made.json()
    assert (reply["taskset_name"], reply["tasks_created"], reply["tasks_updated"]) == ("my-set", 2, 0)
    named = api.get("/v2/tasksets/by-name/My%20Set").json()
    assert named == {"taskset_id": reply["taskset_id"], "name": "my-set"}
    record = api.get(f"/v2/tasksets/{reply['taskset_id']}").json()
    assert record == {"id": reply["taskset_id"], "name": "my-set", "project_id": str(Project.objects.get().id), "can_edit": True}
    assert json.loads(body_of(api.get(f"/v2/tasksets/{reply['taskset_id']}/export"))) == {
        "name": "my-set",
        "tasks": [
            {"name": "a", "env": "letters", "scenario": "count", "args": {"word": "x"}, "validation": None, "agent_config": None, "columns": None, "runtime_config": None, "verifier": None},
            {"name": "b", "env": "letters", "scenario": "count", "args": None, "validation": None, "agent_config": None, "columns": {"n": 1}, "runtime_config": None, "verifier": None},
        ],
    }  # fmt: skip


def test_digits_key_order_nul_and_emoji_come_out_as_sent(api: Api) -> None:
    args = '{"z":1.10,"a":-0,"big":123456789012345678901234567890,"tiny":1e-9,"nul":"\\u0000","é😀":{"b":1,"a":2}}'
    body = f'{{"taskset_name":"exact","tasks":[{{"name":"t","env":{{"name":"e"}},"task_id":"x","args":{args}}}]}}'
    assert api.send("/v2/tasks/upload", body.encode()).status_code == 200
    assert f'"args":{args},'.encode() in body_of(api.get("/api/tasksets/exact/export"))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
trees = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=10)  # fmt: skip
slugs = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=8)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(slugs, st.dictionaries(texts, trees, max_size=4)), max_size=4, unique_by=lambda item: item[0]))
def test_any_tasks_survive_upload_and_export(api: Api, tasks: list[tuple[str, dict[str, Any]]]) -> None:
    name = f"any-{uuid.uuid4().hex[:6]}-x"
    assert api.upload(name, *(row(slug, args=args, columns=args) for slug, args in tasks)).status_code == 200
    out = api.export(name)["tasks"]
    assert json.dumps([(task["name"], task["args"], task["columns"]) for task in out]) == json.dumps(
        [(slug, args, args) for slug, args in tasks]
    )


def test_the_same_upload_again_changes_nothing(api: Api) -> None:
    first = api.upload("s", row("a"), row("b")).json()
    again = api.upload("s", row("a"), row("b"))
    assert again.status_code == 200
    assert (again.json()["tasks_created"], again.json()["tasks_updated"], again.json()["digest"]) == (0, 0, first["digest"])
    assert Version.objects.count() == 1


def test_rows_merge_by_slug_and_none_goes_or_moves(api: Api) -> None:
    api.upload("s", row("a", args={"n": 1}), row("b"), row("c"))
    reply = api.upload("s", row("z"), row("b", args={"n": 2}), row("a", args={"n": 1})).json()
    assert (reply["tasks_created"], reply["tasks_updated"]) == (1, 1)
    assert [(task["name"], task["args"]) for task in api.export("s")["tasks"]] == [
        ("a", {"n": 1}),
        ("b", {"n": 2}),
        ("c", None),
        ("z", None),
    ]


def test_a_row_is_whole_so_what_is_not_sent_is_unset(api: Api) -> None:
    api.upload("s", row("a", args={"n": 1}, columns={"x": 1}))
    assert api.upload("s", row("a", args={"n": 1})).json()["tasks_updated"] == 1
    assert api.export("s")["tasks"][0]["columns"] is None


def test_null_is_absent_but_empty_values_are_values(api: Api) -> None:
    api.upload("s", row("a", args=None, columns={}, validation=[]))
    task = api.export("s")["tasks"][0]
    assert (task["args"], task["columns"], task["validation"]) == (None, {}, [])
    assert api.upload("s", row("a", columns={}, validation=[])).json()["tasks_updated"] == 0


def test_key_order_alone_is_no_change_and_the_first_text_stays(api: Api) -> None:
    api.upload("s", row("a", args={"z": 1, "a": 2}))
    assert api.upload("s", row("a", args={"a": 2, "z": 1})).json()["tasks_updated"] == 0
    assert list(api.export("s")["tasks"][0]["args"]) == ["z", "a"]


def test_equal_content_is_stored_once_in_a_team(api: Api) -> None:
    api.upload("one", row("a"), row("b"))
    api.upload("two", row("c"))
    assert TaskContent.objects.count() == 1 and Version.objects.count() == 2


def test_names_are_normalised_and_percent_decoded_once(api: Api) -> None:
    made = api.upload("  Möre _Tests 2 ", row("a")).json()
    assert made["taskset_name"] == "mre-tests-2"
    for name in ("mre-tests-2", "M%C3%B6re%20_tests%202", "%20MRE_TESTS_2%20", "mre%2Ftests%2F2"[:3] + "-tests-2"):
        assert api.get(f"/v2/tasksets/by-name/{name}").json()["taskset_id"] == made["taskset_id"], name
    assert api.get("/v2/tasksets/by-name/mre%252Dtests%252D2").status_code == 404
    assert api.upload("MRE tests-2", row("b")).json()["taskset_id"] == made["taskset_id"], "the same handle is the same set"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "漢字",
        "a@b",
        "a/b",
        "a:b",
        "a\\b",
        "a%b",
        "a\nb",
        "x" * 101,
        "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "f47ac10b58cc4372a5670e02b2c3d479",
        "{f47ac10b-58cc-4372-a567-0e02b2c3d479}",
    ],
)
def test_a_name_that_could_not_be_found_again_is_refused(api: Api, name: str) -> None:
    for reply in (api.upload(name, row("a")), api.send("/v2/tasksets", {"name": name}), api.send("/api/tasksets", {"name": name or " "})):
        assert reply.status_code == 422 and reply.json()["detail"]
    assert not Taskset.objects.exists()


def test_creating_twice_is_a_conflict(api: Api) -> None:
    made = api.send("/v2/tasksets", {"name": "New Set", "project_id": None})
    assert made.status_code == 200 and made.json()["can_edit"] is True and made.json()["name"] == "new-set"
    assert api.send("/v2/tasksets", {"name": "new_set"}).status_code == 409
    assert api.export("new-set") == {"name": "new-set", "tasks": []}


def test_an_upload_by_id_wins_over_the_name(api: Api) -> None:
    made = api.upload("s", row("a")).json()
    reply = api.upload("another name", row("b"), taskset_id=made["taskset_id"]).json()
    assert reply["taskset_id"] == made["taskset_id"] and api.slugs("s") == ["a", "b"]
    assert api.upload("s", row("a"), taskset_id=str(uuid.uuid4())).status_code == 404
    assert api.upload("s", row("a"), taskset_id="no id").status_code == 422


def test_a_project_counts_at_creation_only(api: Api, ada: Caller) -> None:
    default = Project.objects.get(team_id=ada.team_id)
    other = Project.objects.create(team_id=ada.team_id, name="other", title="Other")
    made = api.upload("s", row("a"), project_id=str(other.id)).json()
    assert api.get(f"/v2/tasksets/{made['taskset_id']}").json()["project_id"] == str(other.id)
    assert api.upload("s", row("b"), project_id=str(default.id)).status_code == 409
    assert api.upload("s", row("b"), project_id=str(other.id)).status_code == 200
    assert api.upload("new", row("b"), project_id=str(uuid.uuid4())).status_code == 404
    assert not Taskset.objects.filter(name="new").exists()


def test_a_pinned_reference_gives_the_versions_own_id(api: Api) -> None:
    first = api.upload("s", row("a")).json()
    second = api.upload("s", row("b")).json()
    for ref in ("s@1", f"s@{first['digest']}", f"S%40{first['digest']}", f"{first['taskset_id']}@1"):
        pinned = api.get(f"/v2/tasksets/by-name/{ref}").json()
        assert pinned["name"] == "s" and pinned["taskset_id"] == str(Version.objects.get(number=1).id)
    version_id = pinned["taskset_id"]
    assert api.get(f"/v2/tasksets/{version_id}").json()["can_edit"] is False
    assert [task["name"] for task in json.loads(body_of(api.get(f"/v2/tasksets/{version_id}/export")))["tasks"]] == ["a"]
    assert api.upload("s", row("c"), taskset_id=version_id).status_code == 409
    assert api.get("/v2/tasksets/by-name/s@2").json()["taskset_id"] != second["taskset_id"], "pinned, although it is the head"


@pytest.mark.parametrize("suffix", ["0", "99", "latest", "sha256:00", "-1", "1.0", "99999999999999999999", ""])
def test_an_unknown_version_is_404_and_lists_what_there_is(api: Api, suffix: str) -> None:
    for number in range(12):
        api.upload("s", row("a", args={"n": number}))
    reply = api.get(f"/v2/tasksets/by-name/s@{suffix}")
    assert reply.status_code == 404
    assert [version["number"] for version in reply.json()["error"]["details"]["versions"]] == list(range(12, 2, -1))


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"taskset_name": "x"}, ""), ({"taskset_name": "x", "tasks": {}}, ""), ({"taskset_name": 5, "tasks": []}, ""), ({"tasks": []}, "taskset_name"),
        ({"taskset_name": "x", "tasks": [], "extra": 1}, ""), ({"taskset_name": "x", "tasks": [1]}, "tasks[0]"),
        ({"taskset_name": "x", "tasks": [row("a", extra=1)]}, "tasks[0].extra"), ({"taskset_name": "x", "tasks": [row("a"), row("a")]}, "tasks[1].name"),
        ({"taskset_name": "x", "tasks": [{**row("a"), "name": 5}]}, "tasks[0].name"), ({"taskset_name": "x", "tasks": [row("a", args=[])]}, "tasks[0].args"),
    ],
)  # fmt: skip
def test_a_bad_body_is_422_with_the_place_and_stores_nothing(api: Api, body: Any, path: str) -> None:
    reply = api.send("/v2/tasks/upload", body)
    assert reply.status_code == 422 and reply.json()["detail"]
    assert reply.json()["error"]["details"]["problems"][0]["path"] == path
    assert not Taskset.objects.exists() and not TaskContent.objects.exists()


@pytest.mark.parametrize(
    ("args", "status", "text"),
    [
        (b'{"n":NaN}', 422, "tasks[0].args.n"), (b'{"n":1,"n":2}', 422, "tasks[0].args.n"), (b'{"n":1e999}', 422, "tasks[0].args.n"),
        (b'{"n":"\\ud800"}', 422, "tasks[0].args.n"), (b'{"n":' + b"[" * 5000 + b"]" * 5000 + b"}", 422, "64 levels"), (b'{"n":1', 400, "not JSON"),
        (b'{"n":01}', 400, "not JSON"), (b'{"n":"\xff"}', 422, "UTF-8"),
    ],
)  # fmt: skip
def test_text_that_is_no_exact_json_is_refused(api: Api, args: bytes, status: int, text: str) -> None:
    reply = api.send(
        "/v2/tasks/upload", b'{"taskset_name":"x","tasks":[{"name":"t","env":{"name":"e"},"task_id":"x","args":' + args + b"}]}"
    )
    assert reply.status_code == status and text in reply.json()["detail"], reply.json()


def test_limits_are_413_and_named(api: Api) -> None:
    from django.conf import settings

    for limit, value in (("upload_bytes", 100), ("task_bytes", 50), ("tasks_per_set", 1)):
        with override_settings(PROCTOR_LIMITS={**settings.PROCTOR_LIMITS, limit: value}):
            reply = api.upload("x", row("a", args={"text": "y" * 40}), row("b"))
        assert reply.status_code == 413 and reply.json()["error"]["details"]["limit"] == limit
    api.upload("x", row("a"))
    with override_settings(PROCTOR_LIMITS={**settings.PROCTOR_LIMITS, "tasks_per_set": 1}):
        assert api.upload("x", row("b")).status_code == 413, "the set as a whole counts"


def test_an_export_is_one_gzip_member_or_zstd_frame_and_known_by_its_etag(api: Api) -> None:
    made = api.upload("s", *(row(f"t{i}", args={"text": "y" * 500, "n": i}) for i in range(3_000))).json()
    path = f"/v2/tasksets/{made['taskset_id']}/export"
    plain, gzipped, zstd = replies = [api.get(path, Accept_Encoding=given) for given in ("identity", "gzip, deflate", "gzip, zstd")]
    body, squeezed, frame = (body_of(reply) for reply in replies)
    assert json.loads(body)["tasks"][2_999]["args"]["n"] == 2_999
    assert gzip.decompress(squeezed) == body and zstandard.ZstdDecompressor().decompressobj().decompress(frame) == body
    decompress = zlib.decompressobj(31)
    decompress.decompress(squeezed)
    assert decompress.eof and not decompress.unused_data, "one member"
    assert [reply.get("Content-Encoding") for reply in (plain, gzipped, zstd)] == [None, "gzip", "zstd"]
    assert int(plain["Content-Length"]) == len(body) and int(gzipped["Content-Length"]) == len(squeezed)
    assert len({reply["ETag"] for reply in (plain, gzipped, zstd)}) == 3 and "Accept-Encoding" in gzipped["Vary"]
    again = api.get(path, Accept_Encoding="gzip", If_None_Match=f'"x", W/{gzipped["ETag"]}')
    assert again.status_code == 304 and again["ETag"] == gzipped["ETag"] and not again.content
    assert api.get(path, Accept_Encoding="gzip", If_None_Match=zstd["ETag"]).status_code == 200
    head = api.head(path, Accept_Encoding="gzip")
    assert head.status_code == 200 and not head.content and head["Content-Length"] == gzipped["Content-Length"]


def test_a_change_and_a_rename_give_another_etag(api: Api) -> None:
    api.upload("s", row("a"))
    first = api.get("/api/tasksets/s/export")["ETag"]
    api.upload("s", row("a", args={"n": 1}))
    second = api.get("/api/tasksets/s/export", If_None_Match=first)
    assert second.status_code == 200 and second["ETag"] != first
    api.send("/api/tasksets/s", {"name": "renamed"}, "PATCH")
    third = api.get("/api/tasksets/s/export", If_None_Match=second["ETag"])
    assert third.status_code == 200 and json.loads(body_of(third))["name"] == "renamed"
    assert Export.objects.count() == 2, "the old name's exports are gone"


def test_what_is_written_is_few_rows_and_audited(api: Api, ada: Caller) -> None:
    rows = [row(f"t{i}", args={"n": i}) for i in range(5_000)]
    api.upload("s", *rows)
    contents, chunks = TaskContent.objects.count(), Chunk.objects.count()
    api.upload("s", *[row(f"t{i}", args={"n": -i - 1}) for i in (3, 2_500, 4_999)])
    assert TaskContent.objects.count() == contents + 3 and 1 <= Chunk.objects.count() - chunks <= 3
    assert list(AuditEvent.objects.filter(verb="taskset.upload").values_list("actor", flat=True)) == ["key test"] * 2


def test_another_team_sees_nothing(api: Api, cy_key: str) -> None:
    made = api.upload("s", row("a")).json()
    version = Version.objects.get()
    theirs = Api(cy_key)
    for ref in (made["taskset_id"], str(version.id)):
        for path in (f"/v2/tasksets/{ref}", f"/v2/tasksets/{ref}/export", f"/v2/tasksets/by-name/{ref}"):
            assert api.get(path).status_code == 200 and theirs.get(path).status_code == 404, path
        assert theirs.upload("s", row("x"), taskset_id=ref).status_code == 404
    assert theirs.get("/v2/tasksets/by-name/s").status_code == 404
    mine = theirs.upload("s", row("b")).json()
    assert mine["taskset_id"] != made["taskset_id"] and api.slugs("s") == ["a"] and theirs.slugs("s") == ["b"]


def test_without_a_good_key_nothing_answers(db: None) -> None:
    for reply in (
        Api("wrong").upload("s", row("a")),
        Api("wrong").get("/v2/tasksets/by-name/s"),
        Api("wrong").get(f"/v2/tasksets/{uuid.uuid4()}/export"),
    ):
        assert reply.status_code == 401 and reply.json()["detail"]


def test_other_methods_are_405(api: Api) -> None:
    assert api.get("/v2/tasks/upload").status_code == 405
    assert api.send(f"/v2/tasksets/{uuid.uuid4()}/export", {}).status_code == 405


def test_only_the_heads_export_is_kept_and_others_are_made_again(api: Api) -> None:
    api.upload("s", row("a", args={"n": 1}))
    first = body_of(api.get("/api/tasksets/s@1/export", Accept_Encoding="gzip"))
    old = list(Export.objects.values_list("path", flat=True))
    with TestCase.captureOnCommitCallbacks(execute=True):
        api.upload("s", row("a", args={"n": 2}))
    assert {export.version.number for export in Export.objects.select_related("version")} == {2}
    assert not any(default_storage.exists(path) for path in old)
    assert body_of(api.get("/api/tasksets/s@1/export", Accept_Encoding="gzip")) == first, "the same bytes"


def test_an_export_whose_file_is_gone_is_made_again(api: Api) -> None:
    api.upload("s", row("a"))
    body = body_of(api.get("/api/tasksets/s/export"))
    for path in Export.objects.values_list("path", flat=True):
        default_storage.delete(path)
    assert body_of(api.get("/api/tasksets/s/export")) == body and Export.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_large_export_is_made_after_the_reply_and_once(ada_key: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that makes it is held until a request waits for the same; both get what one of them made."""
    settings.TESTING = False
    monkeypatch.setattr(exports, "AT_ONCE", 1)
    go, made, render = threading.Event(), [], exports._render

    def slow(*args: Any) -> Any:
        go.wait(20)
        made.append(render(*args))
        return made[-1]

    monkeypatch.setattr(exports, "_render", slow)
    monkeypatch.setattr(exports.connections, "close_all", lambda: None)
    assert Api(ada_key).upload("s", row("a"), row("b")).status_code == 200 and not Export.objects.exists()
    version = Version.objects.get()
    asking = threading.Thread(target=exports.get_exports, args=(version, "s"))
    asking.start()
    go.set()
    for thread in [one for one in threading.enumerate() if one.name == "export"] + [asking]:
        thread.join(20)
    assert Export.objects.count() == 2 and len(made) == 1

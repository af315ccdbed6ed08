"""Tasks against the manifests of their environments: warned of afterwards, or refused on every way in."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.callers import Caller
from environments.models import EnvironmentVersion
from tasksets.models import Version
from tests.support.analysis import Analyses, at_once, know, work  # noqa: F401
from tests.support.imports import Imports, lines
from tests.support.tasksets import row

pytestmark = pytest.mark.usefixtures("at_once")


@pytest.fixture(autouse=True)
def blobs(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


@pytest.fixture
def api(ada_key: str) -> Analyses:
    return Analyses(ada_key)


BAD = row("bad", args={"word": 7, "n": 0})
GOOD = row("good", args={"word": "banana", "n": 2})


def test_findings_name_task_place_rule_and_value(api: Analyses, ada: Caller) -> None:
    know(ada.team_id)
    api.upload("s", GOOD, BAD, row("gone", task_id="spell"), row("elsewhere", env="unheard of"), row("none"))
    assert work() == 1
    page = api.get("/api/tasksets/s/checks").json()
    assert page["items"] == [
        {"slug": "bad", "path": "args.n", "rule": "must be at least 1", "value": "0"},
        {"slug": "bad", "path": "args.word", "rule": 'must be of type "string"', "value": "7"},
        {"slug": "gone", "path": "id", "rule": "must be a template of environment letters (version 1), which has count", "value": "spell"},
        {"slug": "none", "path": "args", "rule": "'word' is a required property", "value": "{}"},
    ]
    assert (page["status"], page["policy"], page["version_number"]) == ("done", "warn", 1)
    counts = page["counts"]
    assert (counts["tasks"], counts["checks"], counts["tasks_with_checks"], counts["tasks_unknown"]) == (5, 4, 3, 1)
    assert [(one["name"], one["tasks"], one["version_number"]) for one in page["environments"]] == [
        ("letters", 4, 1),
        ("unheard of", 1, None),
    ]


def test_environments_are_found_by_name_as_people_write_it(api: Analyses, ada: Caller) -> None:
    know(ada.team_id, "my-letters")
    api.upload("s", row("a", env="My_Letters", args={"word": 1}))
    work()
    assert api.checks() == [("a", "args.word", 'must be of type "string"')]


def test_the_verifier_is_checked_too(api: Analyses, ada: Caller) -> None:
    know(ada.team_id)
    verifier = {"env": "letters", "id": "count", "args": {"word": 1}}
    api.upload("s", row("a", env="other", verifier=verifier), row("b", env="other", verifier={**verifier, "id": "x"}))
    work()
    assert [(slug, path) for slug, path, _rule in api.checks()] == [("a", "verifier.args.word"), ("b", "verifier.id")]


def test_findings_come_in_pages(api: Analyses, ada: Caller) -> None:
    know(ada.team_id)
    api.upload("s", *(row(f"t{number}", args={"word": number}) for number in range(7)))
    work()
    seen, cursor = [], ""
    while cursor is not None:
        page = api.get(f"/api/tasksets/s/checks?limit=3&cursor={cursor}").json()
        seen += [one["slug"] for one in page["items"]]
        cursor = page["next_cursor"]
    assert seen == [f"t{number}" for number in range(7)]
    assert api.get("/api/tasksets/s/checks?cursor=x").status_code == 422


def test_a_newer_manifest_is_checked_against_by_itself(api: Analyses, ada: Caller) -> None:
    from tasksets.analysis.actions import drop_outdated

    api.upload("s", BAD)
    work()
    assert api.checks() == [] and drop_outdated() == 0
    know(ada.team_id)
    assert drop_outdated() == 1 and work() == 1
    assert len(api.checks()) == 2 and drop_outdated() == 0
    know(ada.team_id, number=2, count={})
    stale = api.get("/api/tasksets/s/checks").json()["environments"][0]
    assert (stale["version_number"], stale["newest_number"]) == (1, 2)
    assert api.send("/api/tasksets/s/analysis", b"").json()["status"] == "queued", "asked for: what is out of date is made again"
    work()
    assert api.checks() == []


def test_a_bad_schema_is_told_and_counts_against_no_task(api: Analyses, ada: Caller) -> None:
    know(ada.team_id, count={"$ref": "http://127.0.0.1:9/x"}, spell={"type": "object"})
    api.upload("s", row("a", args={"word": 1}), row("b", task_id="spell"))
    work()
    page = api.get("/api/tasksets/s/checks").json()
    assert page["items"] == [] and "leads nowhere" in page["environments"][0]["unusable"]["count"]


def test_refuse_refuses_on_every_way_in(api: Analyses, ada: Caller, ada_key: str) -> None:
    know(ada.team_id)
    api.upload("s", GOOD)
    assert api.choose(schema_policy="refuse").json()["schema_policy"] == "refuse"
    places = ['tasks["bad"].args.n', 'tasks["bad"].args.word']

    def refused(reply: Any) -> bool:
        assert reply.status_code == 422, reply.content
        return [one["path"] for one in reply.json()["error"]["details"]["problems"]] == places

    assert refused(api.upload("s", BAD)), "HUD's upload"
    assert refused(api.send("/api/tasksets/s/upload?mode=replace", {"tasks": [BAD]})), "the native upload"
    added = {"changes": [{"op": "add", "slug": "bad", "text": '{"env":"letters","id":"count","args":{"word":7,"n":0}}'}]}
    assert Version.objects.count() == 1
    imports = Imports(ada_key)
    found = imports.begin(lines({"slug": "bad", "env": "letters", "id": "count", "args": {"word": 7}}), "x.jsonl", taskset="s")
    checked = imports.check(found)
    assert checked["errors_total"] == 1 and "args.word" in str(imports.errors(found)[0]), "a check of a file tells it row by row"
    assert added["changes"] and api.upload("s", row("free", env="unheard of", args={"word": 7})).status_code == 200, (
        "unknown: never refused"
    )


def test_refuse_refuses_drafts_and_what_goes_back(api: Analyses, ada: Caller, client_for: Any) -> None:
    api.upload("s", BAD)
    api.upload("s", row("bad", args={"word": "mended"}))
    know(ada.team_id)
    api.choose(schema_policy="refuse")
    assert api.send("/api/tasksets/s/restore", {"version": 1}).status_code == 422
    assert api.send("/api/tasksets/s/undo", b"").status_code == 422
    api.send(
        "/api/tasksets/s/draft",
        {"changes": [{"op": "add", "slug": "x", "text": '{"env":"letters","id":"count","args":{"word":7}}'}]},
        "PUT",
    )
    reply = api.send("/api/tasksets/s/draft/commit", {"message": ""})
    assert reply.status_code == 422 and reply.json()["error"]["details"]["problems"][0]["path"] == 'tasks["x"].args.word'
    api.choose(schema_policy="off")
    assert api.send("/api/tasksets/s/restore", {"version": 1}).status_code == 200


def test_refuse_looks_at_what_changes_alone(api: Analyses, ada: Caller) -> None:
    api.upload("s", BAD)
    know(ada.team_id)
    api.choose(schema_policy="refuse")
    assert api.upload("s", BAD, GOOD).status_code == 200, "what was there before stays"
    assert api.send("/api/tasksets/s/upload?mode=remove", {"tasks": [{"slug": "bad"}]}).status_code == 200


def test_off_checks_nothing(api: Analyses, ada: Caller) -> None:
    know(ada.team_id)
    api.upload("s", BAD)
    api.choose(schema_policy="off")
    work()
    page = api.get("/api/tasksets/s/checks").json()
    assert (page["items"], page["status"], page["policy"], page["environments"]) == ([], "done", "off", [])


def test_a_policy_is_one_of_three(api: Analyses) -> None:
    api.upload("s", GOOD)
    assert api.choose(schema_policy="maybe").status_code == 422
    for bad in ([""], ["a..b"], ["x" * 101], ["a"] * 21):
        assert api.choose(answer_fields=bad).status_code == 422, bad


def test_manifests_of_other_teams_count_for_nothing(api: Analyses, cy: Caller) -> None:
    know(cy.team_id)
    api.upload("s", BAD)
    work()
    assert api.checks() == [] and api.analysis()["counts"]["tasks_unknown"] == 1


def test_only_a_ready_version_counts(api: Analyses, ada: Caller) -> None:
    know(ada.team_id)
    know(ada.team_id, number=2, other={})
    EnvironmentVersion.objects.filter(number=2).update(status="failed")
    api.upload("s", BAD)
    work()
    assert len(api.checks()) == 2

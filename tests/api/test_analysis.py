"""Analyses of versions: by themselves and on demand, their duplicates and leaks, and what drops them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.callers import Caller
from tasksets.analysis import claims
from tasksets.analysis.claims import Lost, claim_waiting
from tasksets.analysis.models import Analysis, Finding
from tasksets.analysis.run import run_analysis
from tests.support.analysis import Analyses, at_once, know, work  # noqa: F401
from tests.support.tasksets import row

pytestmark = pytest.mark.usefixtures("at_once")
LONG = "A farmer has 17 sheep and all but nine of them run away over the hill; how many sheep does the farmer have left in the end?"


@pytest.fixture(autouse=True)
def blobs(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


@pytest.fixture
def api(ada_key: str) -> Analyses:
    return Analyses(ada_key)


def asks(slug: str, question: str, **more: Any) -> dict[str, Any]:
    return row(slug, args={"question": question, **more})


def test_a_new_head_is_analysed_by_itself(api: Analyses) -> None:
    api.upload("s", asks("a", LONG, n=1), asks("b", "Something else entirely, with words of its own"))
    before = api.analysis()
    assert (before["status"], before["version_number"], before["counts"]["tasks"]) == ("none", 1, 0)
    assert work() == 1 and work() == 0
    after = api.analysis()
    assert (after["status"], after["progress"], after["counts"]["prompts"], after["error"]) == ("done", 1.0, 2, None)
    assert after["settings"]["answer_fields"] == ["answer", "expected", "target", "solution"]


def test_quick_versions_make_one_analysis(api: Analyses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "QUIET", timedelta(seconds=10))
    for number in range(10):
        api.upload("s", asks("a", LONG, n=number))
    assert work() == 0, "the last is not ten seconds old"
    monkeypatch.setattr(claims, "QUIET", timedelta(0))
    assert work() == 1 and Analysis.objects.get().version.number == 10


def test_a_set_put_away_and_one_that_is_very_large_are_not_analysed_by_themselves(api: Analyses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MOST_BY_ITSELF", 1)
    api.upload("large", asks("a", LONG), asks("b", LONG))
    api.upload("away", asks("a", LONG))
    api.choose("away", archived=True)
    api.send("/api/tasksets", {"name": "empty"})
    assert work() == 0
    assert api.send("/api/tasksets/large/analysis", b"").status_code == 202 and work() == 1
    assert api.send("/api/tasksets/empty/analysis", b"").status_code == 409 and api.analysis("empty")["status"] == "none"


def test_exact_duplicates_have_the_same_content_under_another_slug(api: Analyses) -> None:
    api.upload("s", asks("a", LONG), asks("b", LONG), asks("c", "Quite another question, is it not?"), asks("d", LONG))
    work()
    assert api.pairs() == [("exact", "a", "b", 1.0), ("exact", "a", "d", 1.0)]
    assert (api.analysis()["counts"]["exact"], api.analysis()["counts"]["near"]) == (2, 0)


def test_near_duplicates_come_with_their_jaccard_the_most_alike_first(api: Analyses) -> None:
    api.upload(
        "s",
        asks("first", LONG, n=1),
        asks("one word", LONG.replace("A farmer", "One farmer"), n=2),
        asks("same prompt", LONG.upper(), n=3),
        asks("different", "How many roads must a man walk down before you call him a man, my friend?"),
        row("no prompt", args={"word": "banana"}),
        row("no prompt either", args={"word": "bananas"}),
    )
    work()
    total = len(LONG.split()) - 4
    assert api.pairs(kind="near") == [
        ("near", "first", "same prompt", 1.0),
        ("near", "first", "one word", round((total - 1) / (total + 1), 4)),
    ]
    assert api.pairs(kind="exact") == []
    assert api.get("/api/tasksets/s/analysis/duplicates?kind=odd").status_code == 422


def test_lists_come_in_pages_across_kinds(api: Analyses) -> None:
    api.upload("s", *(asks(f"t{number}", LONG, n=number // 2) for number in range(6)))
    work()
    seen, cursor = [], ""
    while cursor is not None:
        page = api.get(f"/api/tasksets/s/analysis/duplicates?limit=2&cursor={cursor}").json()
        seen += [(one["kind"], one["other"]) for one in page["items"]]
        cursor = page["next_cursor"]
    assert seen == [("exact", "t1"), ("exact", "t3"), ("exact", "t5"), ("near", "t2"), ("near", "t4")]


def test_leaks_tell_their_places_in_the_fields_that_were_chosen(api: Analyses) -> None:
    api.upload(
        "s",
        asks("leaks", "The answer is Paris, what is the answer?", answer="paris"),
        asks("fine", "What is the capital of France?", answer="Paris"),
        asks("number", "There are 3123 of them, how many?", answer=312),
        asks("other field", "Say banana to the monkey, please.", gold={"word": "Banana"}),
    )
    work()
    assert api.leaks() == [("leaks", "args.answer", "Paris")]
    chosen = api.choose(answer_fields=["gold.word"])
    assert chosen.json()["answer_fields"] == ["gold.word"] and api.analysis()["status"] == "none", "what was found before counts no more"
    work()
    assert api.leaks() == [("other field", "args.gold.word", "banana")]
    assert api.choose(answer_fields=[]).json()["answer_fields"] == []


def test_asking_again_changes_nothing_until_something_did(api: Analyses, ada: Caller) -> None:
    api.upload("s", asks("a", LONG))
    first = api.send("/api/tasksets/s/analysis", b"")
    assert (first.status_code, first.json()["status"]) == (202, "queued")
    assert api.send("/api/tasksets/s/analysis", b"").json()["created_at"] == first.json()["created_at"]
    work()
    assert api.send("/api/tasksets/s/analysis", b"").json()["status"] == "done" and Analysis.objects.count() == 1
    know(ada.team_id)
    assert api.send("/api/tasksets/s/analysis", b"").json()["status"] == "queued"


def test_an_older_version_is_analysed_when_asked_for_and_kept(api: Analyses) -> None:
    api.upload("s", asks("a", LONG), asks("b", LONG))
    api.upload("s", asks("b", "Now something quite different, to be sure"))
    assert api.analysis("s@1")["status"] == "none"
    api.send("/api/tasksets/s@1/analysis", b"")
    assert work() == 2
    assert api.pairs("s@1") == [("exact", "a", "b", 1.0)] and api.pairs() == []
    api.upload("s", asks("c", "And a third one, for good measure"))
    assert work() == 1
    kept = {found.version.number for found in Analysis.objects.all()}
    assert kept == {1, 3}, "the one of version 2 came by itself and is of no use any more"


def test_redaction_and_purge_drop_what_was_found(api: Analyses) -> None:
    api.upload("s", asks("a", "The answer is Paris, what is it?", answer="Paris"))
    api.upload("other", asks("same", "The answer is Paris, what is it?", answer="Paris"))
    work()
    assert api.leaks() and api.leaks("other")
    assert api.send("/api/tasksets/s/redact", {"slug": "a", "reason": "somebody asked us to"}).status_code == 200
    assert not Finding.objects.exists() and api.leaks() == [], "in every set that showed it"
    assert work() == 2 and api.leaks() == [] and api.analysis()["counts"]["prompts"] == 0
    api.choose(archived=True)
    api.send("/api/tasksets/s/purge", {"confirm": "s"})
    assert Analysis.objects.filter(version__taskset__name="s").count() == 0
    assert api.get("/api/tasksets/s/analysis").status_code == 410 and api.send("/api/tasksets/s/analysis", b"").status_code == 410


def test_another_team_sees_nothing(api: Analyses, cy_key: str) -> None:
    api.upload("s", asks("a", LONG))
    work()
    id = api.get("/api/tasksets/s").json()["id"]
    stranger = Analyses(cy_key)
    for ref in ("s", id):
        for rest in ("checks", "analysis", "analysis/duplicates", "analysis/leaks"):
            assert stranger.get(f"/api/tasksets/{ref}/{rest}").status_code == 404, rest
        assert stranger.send(f"/api/tasksets/{ref}/analysis", b"").status_code == 404
        assert stranger.choose(ref, schema_policy="off").status_code == 404


def test_a_reader_may_look_and_not_begin(api: Analyses, ada_person: Any) -> None:
    from accounts.actions import create_key

    api.upload("s", asks("a", LONG))
    reader = Analyses(create_key(ada_person.caller, name="r", scopes=["read"]).secret)
    assert reader.get("/api/tasksets/s/analysis").status_code == 200
    assert reader.send("/api/tasksets/s/analysis", b"").status_code == 403 and reader.choose(schema_policy="off").status_code == 403


def test_a_worker_that_was_thought_dead_changes_nothing(api: Analyses) -> None:
    api.upload("s", asks("a", LONG), asks("b", LONG))
    late = claim_waiting("late")
    assert late is not None and claim_waiting("other") is None, "one at a time"
    Analysis.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    assert work() == 1
    run_analysis(late)
    assert api.pairs() == [("exact", "a", "b", 1.0)] and Finding.objects.count() == 1
    with pytest.raises(Lost):
        late.keep()


def test_one_that_stops_gives_it_back_and_three_deaths_end_it(api: Analyses) -> None:
    api.upload("s", asks("a", LONG))
    stopped = claim_waiting("w", lambda: True)
    assert stopped is not None
    run_analysis(stopped)
    assert (Analysis.objects.get().status, Analysis.objects.get().attempts) == ("queued", 0)
    for _ in range(3):
        assert claim_waiting("dies") is not None
        assert claims.free_claims() == 1
    assert work() == 0
    seen = api.analysis()
    assert seen["status"] == "failed" and "3 times" in seen["error"]
    assert api.send("/api/tasksets/s/analysis", b"").json()["status"] == "queued", "asked for again it begins anew"


def test_a_redaction_in_the_middle_leaves_nothing_behind(api: Analyses) -> None:
    api.upload("s", asks("a", "The answer is Paris, what is it?", answer="Paris"))
    held = claim_waiting("w")
    assert held is not None
    api.send("/api/tasksets/s/redact", {"slug": "a", "reason": "somebody asked us to"})
    Analysis.objects.all().delete()
    api.upload("t", asks("a", LONG))
    assert work() == 2 and not Finding.objects.filter(body__contains="Paris").exists()


def test_an_analysis_costs_the_same_queries_however_many_findings(api: Analyses) -> None:
    api.upload("s", *(asks(f"t{number}", LONG) for number in range(3)))
    work()

    def cost(path: str) -> int:
        with CaptureQueriesContext(connection) as caught:
            assert api.get(path).status_code == 200
        return len(caught)

    paths = ["/api/tasksets/s/analysis", "/api/tasksets/s/checks", "/api/tasksets/s/analysis/duplicates"]
    few = [cost(path) for path in paths]
    api.upload("s", *(asks(f"t{number}", LONG) for number in range(40)))
    work()
    assert [cost(path) for path in paths] == few

"""The table of a version: any order, any filter, any place in it, each task exactly once; the same for the head and an old version."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.callers import Caller
from tasksets.models import TableBlock, TableText
from tests.support.tasksets import Api, row

ROWS = [
    row("a", args={"q": "How many Ducks?"}, columns={"ops": 3, "level": "hard"}),
    row("b", env="zoo", args={"q": "a \"quoted\" duck"}, columns={"ops": 10, "level": "easy"}),
    row("c", task_id="sum", args={"q": "ÄRGER"}, columns={"ops": 2, "level": "a,b"}),
    row("d", columns={"level": "hard"}),
    row("e", columns={"ops": 3, "level": "!x"}),
]


@pytest.fixture(autouse=True)
def blobs(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


@pytest.fixture
def api(ada_key: str) -> Api:
    made = Api(ada_key)
    made.upload("s", *ROWS)
    return made


def page(api: Api, ref: str = "s", **query: Any) -> Any:
    return api.get(f"/api/tasksets/{ref}/tasks?{urlencode(query, doseq=True)}").json()


def slugs(api: Api, ref: str = "s", **query: Any) -> str:
    return "".join(task["slug"] for task in page(api, ref, **query)["items"])


def facets(api: Api, ref: str = "s", **query: Any) -> dict[str, Any]:
    found = api.get(f"/api/tasksets/{ref}/facets?{urlencode(query, doseq=True)}").json()
    return {one["column"]: one for one in found["facets"]}


def values(facet: dict[str, Any]) -> dict[str | None, int]:
    return {value["text"]: value["count"] for value in facet["values"]}


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("position", "abcde"), ("-position", "edcba"), ("-slug", "edcba"), ("columns.ops", "caebd"), ("-columns.ops", "baecd"), ("columns.ops,-slug", "ceabd"),
        ("env,-columns.ops", "aecdb"), ("task_id,slug", "abdec"), ("columns.unknown", "abcde"),
    ],
)  # fmt: skip
def test_tasks_come_in_the_order_asked_for(api: Api, sort: str, expected: str) -> None:
    assert slugs(api, sort=sort) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"f.level": "hard"}, "ad"), ({"f.level": "hard,easy"}, "abd"), ({"f.level": "!hard"}, "bce"), ({"f.level": "a\\,b"}, "c"), ({"f.level": "\\!x"}, "e"),
        ({"f.ops": ">=3"}, "abe"), ({"f.ops": ">=2,<=3"}, "ace"), ({"f.ops": "\\-"}, "d"), ({"f.ops": "!\\-"}, "abce"), ({"f.env": "zoo"}, "b"),
        ({"f.task_id": "sum", "f.ops": "2"}, "c"), ({"f.columns.level": "hard", "sort": "-slug"}, "da"), ({"f.level": ["hard", "easy"]}, "abd"), ({"f.none": "x"}, ""),
        ({"f.level": "hard", "q": "DUCK"}, "a"),
    ],
)  # fmt: skip
def test_filters_leave_the_tasks_that_have_what_they_name(api: Api, query: dict[str, Any], expected: str) -> None:
    found = page(api, **query)
    assert ("".join(task["slug"] for task in found["items"]), found["total"]) == (expected, len(expected))


@pytest.mark.parametrize(
    ("q", "expected"),
    [("duck", "ab"), ("d", "abcde"), ('"quoted"', "b"), ("ärger", "c"), ("ärg", "c"), ("?", "a"), ("nothing like it", ""), ("zoo", "b"), ("\\", ""), ("\n", "")],
)
def test_text_is_found_whatever_its_case_and_however_short(api: Api, q: str, expected: str) -> None:
    assert (slugs(api, q=q), page(api, q=q)["total"]) == (expected, len(expected))


def test_an_old_version_is_a_table_like_the_head(api: Api) -> None:
    api.upload("s", row("a", columns={"level": "new"}), row("f", columns={"ops": 1}))
    assert slugs(api, "s@1", sort="-columns.ops") == "baecd" and slugs(api, sort="-columns.ops") == "becfad"
    assert (slugs(api, "s@1", **{"f.level": "hard"}), slugs(api, **{"f.level": "hard"})) == ("ad", "d")
    assert (slugs(api, "s@1", q="ducks"), slugs(api, q="ducks")) == ("a", "")
    assert slugs(api, "s@1", at=3) == "de" and slugs(api, at=3) == "def" and page(api, "s@1")["total"] == 5


def test_a_page_may_begin_anywhere(api: Api) -> None:
    found = page(api, at=3, limit=1, sort="-slug")
    assert (slugs(api, at=3, limit=1, sort="-slug"), found["total"]) == ("b", 5)
    assert slugs(api, at=4, sort="-slug") == "a" and slugs(api, at=5) == "" and slugs(api, at=9, q="d") == ""
    for wrong in ("-1", "x", "99999999999"):
        assert api.get(f"/api/tasksets/s/tasks?at={wrong}").status_code == 422


def test_a_commit_between_two_pages_moves_nothing(api: Api) -> None:
    for query in ({}, {"sort": "-columns.ops"}, {"q": "d"}):
        first = page(api, limit=2, **query)
        before = slugs(api, **query)
        api.send("/api/tasksets/s/upload?mode=remove", {"tasks": [row(first["items"][0]["slug"])]})
        second = page(api, limit=10, cursor=first["next_cursor"], **query)
        assert [task["slug"] for task in (*first["items"], *second["items"])] == list(before)


def test_a_cursor_goes_on_with_its_own_question_alone(api: Api) -> None:
    cursor = page(api, limit=2, sort="slug")["next_cursor"]
    assert slugs(api, sort="slug", cursor=cursor) == "cde"
    for query in ({}, {"sort": "-slug"}, {"sort": "slug", "q": "d"}, {"sort": "slug", "f.env": "zoo"}):
        assert api.get(f"/api/tasksets/s/tasks?{urlencode({**query, 'cursor': cursor})}").status_code == 422


def test_a_wrong_question_is_refused_with_each_problem(api: Api) -> None:
    for path in ("tasks", "facets"):
        reply = api.get(f"/api/tasksets/s/{path}?sort=args.q&f.ops={quote('>=many')}")
        assert (reply.status_code, [one["path"] for one in reply.json()["error"]["details"]["problems"]]) == (422, ["f.ops", "sort"])


def test_facets_count_under_the_other_filters_and_keep_their_order(api: Api) -> None:
    plain = facets(api)
    assert list(plain) == ["env", "task_id", "columns.ops", "columns.level"]
    assert (plain["columns.ops"]["kind"], values(plain["columns.ops"])) == ("numbers", {"3": 2, "10": 1, "2": 1, None: 1})
    assert (plain["columns.level"]["kind"], plain["columns.level"]["distinct"]) == ("values", 4)
    filtered = facets(api, **{"f.level": "hard"})
    assert values(filtered["columns.level"]) == values(plain["columns.level"])
    assert values(filtered["columns.ops"]) == {"3": 1, "10": 0, "2": 0, None: 1}
    assert [value["text"] for value in filtered["columns.ops"]["values"]] == [value["text"] for value in plain["columns.ops"]["values"]]
    assert values(facets(api, q="zoo")["columns.level"]) == {"hard": 0, "easy": 1, "a,b": 0, "!x": 0}


def test_a_histogram_spans_the_column_and_counts_what_is_left(api: Api) -> None:
    bins = facets(api, **{"f.level": "hard"})["columns.ops"]["bins"]
    assert (bins[0]["least"], bins[-1]["most"], sum(one["count"] for one in bins)) == (2, 10, 1)


def test_one_column_is_asked_for_and_its_values_searched(api: Api) -> None:
    assert list(facets(api, column=["level", "env"])) == ["env", "columns.level"]
    found = facets(api, column="level", facet_q="HA")["columns.level"]
    assert (found["distinct"], values(found)) == (1, {"hard": 2})
    assert facets(api, column="unknown") == {}


def test_of_many_values_the_hundred_most_frequent_are_shown_and_the_chosen(api: Api) -> None:
    api.upload("many", *(row(f"r{n}", columns={"n": f"v{n}"}) for n in range(150)))
    assert (facets(api, "many")["columns.n"]["distinct"], len(facets(api, "many")["columns.n"]["values"])) == (150, 100)
    chosen = values(facets(api, "many", **{"f.n": "v149"})["columns.n"])
    assert (len(chosen), chosen["v149"]) == (100, 1)


def test_columns_past_the_fortieth_are_named_and_counted_when_asked_for(api: Api) -> None:
    api.upload("wide", row("a", columns={f"c{n:02}": n for n in range(50)}))
    found = api.get("/api/tasksets/wide/facets").json()
    assert (len(found["facets"]), found["more"]) == (40, [f"columns.c{n}" for n in range(38, 50)])
    assert "columns.c49" in facets(api, "wide", **{"f.c49": "49"})


def test_the_next_version_makes_only_the_blocks_it_lacks(api: Api) -> None:
    api.upload("big", *(row(f"r{n}", columns={"n": n}) for n in range(5_000)))
    assert page(api, "big", sort="-columns.n")["items"][0]["slug"] == "r4999"
    blocks = TableBlock.objects.count()
    assert blocks > 1 and TableText.objects.count() >= blocks
    api.upload("big", row("r4999", columns={"n": -1}))
    assert page(api, "big", sort="-columns.n")["items"][0]["slug"] == "r4998"
    assert 1 <= TableBlock.objects.count() - blocks <= 2


def test_a_redacted_task_is_in_no_table(api: Api) -> None:
    assert slugs(api, q="ducks") == "a" and values(facets(api)["columns.level"])["hard"] == 2
    api.send("/api/tasksets/s/redact", {"slug": "a", "reason": "personal data"})
    assert slugs(api, q="ducks") == "" and values(facets(api)["columns.level"])["hard"] == 1
    assert slugs(api, q="personal data") == "a"


def test_a_purge_takes_the_blocks(api: Api) -> None:
    assert slugs(api, q="ducks") == "a" and TableText.objects.exists()
    api.send("/api/tasksets/s", {"archived": True}, "PATCH")
    api.send("/api/tasksets/s/purge", {"confirm": "s"})
    assert not TableBlock.objects.exists() and not TableText.objects.exists()
    assert {api.get(f"/api/tasksets/s/{path}?q=ducks").status_code for path in ("tasks", "facets")} == {410}


def test_a_table_is_for_its_team_alone(api: Api, cy_key: str) -> None:
    stranger = Api(cy_key)
    assert {stranger.get(f"/api/tasksets/s/{path}").status_code for path in ("tasks", "facets", "results?slug=a")} == {404}


def test_an_empty_set_has_an_empty_table(api: Api) -> None:
    api.send("/api/tasksets", {"name": "none"})
    assert page(api, "none", sort="slug", q="x") == {"items": [], "next_cursor": None, "total": 0}
    assert api.get("/api/tasksets/none/facets").json() == {"total": 0, "facets": [], "more": []}


def test_a_bulk_edit_takes_what_the_table_shows(api: Api) -> None:
    body = {"filter": {"ops": [">=3"], "level": ["!hard"]}, "set_columns": '{"seen":true}'}
    draft = api.send("/api/tasksets/s/draft/bulk", body).json()
    assert [one["slug"] for one in draft["changes"]] == ["b", "e"]
    assert api.send("/api/tasksets/s/draft/bulk", {**body, "filter": {"ops": [">=x"]}}).status_code == 422


def test_a_page_costs_as_many_queries_whatever_its_size(api: Api, django_assert_max_num_queries: Any) -> None:
    api.upload("big", *(row(f"r{n}", columns={"n": n}) for n in range(500)))
    page(api, "big", sort="-columns.n")
    with django_assert_max_num_queries(6) as small:
        page(api, "big", sort="-columns.n", limit=2)
    with django_assert_max_num_queries(len(_counted(small))):
        page(api, "big", sort="-columns.n", limit=500)


def _counted(context: CaptureQueriesContext) -> list[dict[str, str]]:
    return context.captured_queries


WORDS = st.sampled_from(["x", "y", "duck"])
CELLS = st.none() | st.integers(0, 3) | WORDS | st.booleans() | st.floats(0, 2)
SORTS = st.lists(st.tuples(st.sampled_from(["", "-"]), st.sampled_from(["slug", "env", "columns.c", "columns.d", "position"])).map("".join), max_size=3)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(st.tuples(CELLS, CELLS, WORDS), min_size=1, max_size=25), sort=SORTS, chosen=st.sampled_from([None, "x", "!x", "1", ">=1", "\\-"]), q=st.sampled_from(["", "d", "duck"]), size=st.integers(1, 9))  # fmt: skip
def test_every_way_through_the_pages_gives_each_task_once(api: Api, cells: list[Any], sort: list[str], chosen: str | None, q: str, size: int) -> None:
    rows = [row(f"t{n:02}", args={"q": word}, columns={"c": c, "d": d}) for n, (c, d, word) in enumerate(cells)]
    api.send("/api/tasksets/s/upload?mode=replace", {"tasks": rows})
    query = {"sort": ",".join(sort), "q": q, **({"f.c": chosen} if chosen else {})}
    whole = page(api, limit=1000, **query)
    expected = [task["slug"] for task in whole["items"]]
    assert len(set(expected)) == len(expected) == whole["total"]
    by_cursor, cursor = [], ""
    while cursor is not None:
        part = page(api, limit=size, **query, **({"cursor": cursor} if cursor else {}))
        by_cursor += [task["slug"] for task in part["items"]]
        cursor = part["next_cursor"]
    by_place = [task["slug"] for at in range(0, len(expected), size) for task in page(api, limit=size, at=at, **query)["items"]]
    assert by_cursor == by_place == expected


def test_who_may_read_may_ask(api: Api, ada: Caller) -> None:
    assert api.client.get("/api/tasksets/s/facets", headers={"Authorization": "Bearer wrong"}).status_code == 401

"""What the import pages read: errors by group, one row to be mended, imports in lists, what a commit did, what the file alone suggests."""

from __future__ import annotations

from typing import Any

import pytest

from tasksets.imports.check import family_of
from tasksets.imports.models import Import, ImportProblem, SavedMapping, Upload
from tests.support.imports import Imports, lines
from tests.support.tasksets import row

pytestmark = pytest.mark.usefixtures("blobs")

ZOO = {"env": {"column": None, "constant": "zoo"}}
AS_JSON = {"args": {"n": {"column": "n", "kind": "json"}}}


@pytest.fixture
def api(ada_key: str) -> Imports:
    return Imports(ada_key)


def ids(page: dict[str, Any]) -> list[str]:
    return [item["id"] for item in page["items"]]


def test_errors_are_grouped_by_column_and_rule_and_a_group_is_listed_alone(api: Imports) -> None:
    body = b"slug,n\n" + b"".join(b"t%d,oops\n" % index for index in range(5)) + b"a,1\na,2\nb,3\nb,4\nshort\n"
    checked = api.check(api.begin(body, "a.csv"), **ZOO, **AS_JSON)
    path = f"/api/imports/{checked['id']}/errors"
    groups = api.get(f"{path}/groups").json()
    assert [(one["column"], one["count"], one["first_line"]) for one in groups["items"]] == [("n", 5, 2), ("slug", 2, 8), (None, 1, 11)]
    assert groups["total"] == 3 and groups["items"][1]["rule"] == "the slug stands on line # already"
    slugs = api.get(f"{path}?rule=the slug stands on line %23 already&column=slug&limit=1").json()
    assert [one["line"] for one in slugs["items"]] == [8]
    rest = api.get(f"{path}?rule=the slug stands on line %23 already&column=slug&limit=1&cursor={slugs['next_cursor']}").json()
    assert [one["line"] for one in rest["items"]] == [10] and rest["next_cursor"] is None
    assert [one["line"] for one in api.get(f"{path}?rule={groups['items'][2]['rule'].replace('#', '%23')}").json()["items"]] == [11]
    assert len(api.get(f"{path}/groups?limit=1").json()["items"]) == 1


def test_a_family_leaves_out_numbers_and_keeps_names() -> None:
    assert family_of("the row has 3 cells, the header 1,200") == "the row has # cells, the header #"
    assert family_of("must be JSON in UTF-8 (at items[3].n2)") == "must be JSON in UTF-8 (at items[#].n2)"


def test_a_row_is_read_whole_to_be_mended(api: Imports) -> None:
    checked = api.check(api.begin(b'slug,n,text\na,oops,"two\nlines"\nb,2,%s\n' % (b"x" * 150_000), "a.csv"), **ZOO, **AS_JSON)
    path = f"/api/imports/{checked['id']}/rows"
    found = api.get(f"{path}/2").json()
    assert found["cells"] == {"slug": "a", "n": "oops", "text": "two\nlines"} and found["task"] is None and found["cut"] == []
    assert [one["column"] for one in found["errors"]] == ["n"]
    long = api.get(f"{path}/4").json()
    assert (long["cut"], len(long["cells"]["text"])) == (["text"], 100_000)
    assert api.get(f"{path}/3").status_code == api.get(f"{path}/99").status_code == 404
    api.send(f"{path}/2", {"values": {"n": "1.10"}}, "PUT")
    assert api.get(f"{path}/2").json()["cells"]["n"] == "1.10" and api.get(f"{path}/2").json()["errors"] == []
    api.send(f"{path}/4", {"values": {"slug": "a"}}, "PUT")
    assert [one["rule"] for one in api.get(f"{path}/4").json()["errors"]] == ["the slug stands on line 2 already"]


def test_a_row_of_broken_json_or_foreign_bytes_is_shown_as_text(api: Imports) -> None:
    broken = api.check(api.begin(b'{"slug": "a", "q": 1}\n{"slug": "b", "q": \n', "a.jsonl"), **ZOO)
    assert api.get(f"/api/imports/{broken['id']}/rows/2").json()["cells"] == {"": '{"slug": "b", "q":'}
    foreign = api.check(api.begin("slug,q\na,café\n".encode("latin-1"), "a.csv"), **ZOO)
    assert api.get(f"/api/imports/{foreign['id']}/rows/2").json()["cells"]["q"] == "caf?"


def test_imports_are_listed_with_running_ones_first_page_by_page(api: Imports) -> None:
    api.upload("s", row("a", env="zoo"))
    made = [api.begin(b"slug,q\na,1\n", f"{number}.csv", taskset="s")["id"] for number in range(5)]
    Import.objects.filter(id__in=[made[1], made[3]]).update(status="checking")
    whole = api.get("/api/tasksets/s/imports").json()
    assert ids(whole) == [made[3], made[1], made[4], made[2], made[0]]
    seen, cursor = [], ""
    while cursor is not None:
        page = api.get(f"/api/tasksets/s/imports?limit=2&cursor={cursor}").json()
        seen, cursor = [*seen, *ids(page)], page["next_cursor"]
    assert seen == ids(whole)


def test_the_list_of_imports_takes_the_same_queries_for_any_length(api: Imports, django_assert_max_num_queries: Any) -> None:
    api.upload("s", row("a", env="zoo"))
    for number in range(6):
        api.begin(b"slug,q\na,1\n", f"{number}.csv", taskset="s")
    with django_assert_max_num_queries(8):
        assert len(api.get("/api/tasksets/s/imports").json()["items"]) == 6


def test_unfinished_imports_of_new_tasksets_are_listed_for_their_team_alone(api: Imports, cy_key: str) -> None:
    api.upload("there", row("a", env="zoo"))
    api.begin(b"slug,q\na,1\n", "into.csv", taskset="there")
    waiting = api.begin(b"slug,q\na,1\n", "new.csv", name="new")
    cancelled = api.begin(b"slug,q\na,1\n", "gone.csv", name="gone")
    api.send(f"/api/imports/{cancelled['id']}/cancel", {})
    assert ids(api.get("/api/imports").json()) == [waiting["id"]]
    assert Imports(cy_key).get("/api/imports").json()["items"] == []
    api.commit(api.check(waiting, **ZOO))
    assert api.get("/api/imports").json()["items"] == []


def test_another_team_sees_no_rows_groups_or_folders(api: Imports, cy_key: str) -> None:
    found = api.begin(b"slug,q\na,1\n", "a.csv")
    for path in ("/rows/2", "/errors/groups", "/folders", "/preview"):
        sent = Imports(cy_key).send(f"/api/imports/{found['id']}{path}", found["guess"], "POST" if path == "/preview" else "GET")
        assert sent.status_code == 404, path


def test_a_done_import_says_what_it_did_and_keeps_the_errors_of_rows_left_out(api: Imports) -> None:
    api.upload("s", row("a", env="zoo", task_id="run", args={"n": 1}), row("b", env="zoo", task_id="run"))
    checked = api.check(api.begin(b"slug,n\na,2\nc,3\nd,oops\n", "a.csv", taskset="s"), **AS_JSON)
    assert checked["plan"]["against"] == 1
    api.commit(checked, mode="replace", leave_out_bad=True)
    done = api.seen(checked)
    assert done["result"] == {
        "version_number": 2, "previous_number": 1, "created": 1, "updated": 1, "removed": 1, "unchanged": 0, "mode": "replace", "left_out": 1,
    }  # fmt: skip
    assert done["ended_at"] is not None and [one["line"] for one in api.errors(done)] == [4] and ImportProblem.objects.count() == 1


def test_a_commit_that_changes_nothing_names_no_version_before(api: Imports) -> None:
    api.bring(b"slug,q\na,1\n", "a.csv")
    again = api.check(api.begin(b"slug,q\na,1\n", "a.csv", taskset="s"))
    api.commit(again)
    assert (api.seen(again)["result"]["version_number"], api.seen(again)["result"]["previous_number"]) == (1, None)


def test_a_remembered_mapping_is_marked_and_the_files_own_guess_stays_at_hand(api: Imports) -> None:
    first = api.begin(b"slug,q\na,1\n", "a.csv", name="s")
    api.commit(api.check(first, **ZOO, args={"question": {"column": "q", "kind": "json"}}))
    again = api.begin(b"slug,q\nb,2\n", "b.csv", taskset="s")
    assert not first["remembered"] and again["remembered"]
    fresh = api.send(f"/api/imports/{again['id']}/preview", again["guess"]).json()["guess"]
    assert again["guess"]["args"] == {"question": {"column": "q", "kind": "json"}}
    assert (fresh["args"], fresh["env"]["constant"]) == ({"q": {"column": "q", "kind": "text"}}, "zoo")


def test_a_trial_with_another_delimiter_tells_its_columns_and_what_cannot_be_read(api: Imports) -> None:
    found = api.begin(b"slug;q\na;1\n", "a.csv")
    tried = api.send(f"/api/imports/{found['id']}/preview", {**found["guess"], "options": {"delimiter": ","}}).json()
    assert (tried["columns"], tried["error"]) == (["slug;q"], None) and tried["guess"]["options"]["delimiter"] == ","
    sixteen = api.send(f"/api/imports/{found['id']}/preview", {**found["guess"], "options": {"encoding": "utf-16"}}).json()
    assert sixteen["preview"] == [] and sixteen["error"]


def test_rows_of_jsonl_are_edited_as_json(api: Imports) -> None:
    checked = api.check(api.begin(lines({"slug": "a", "q": 1}, {"slug": "a", "q": 2}), "a.jsonl"), **ZOO)
    assert api.get(f"/api/imports/{checked['id']}/rows/2").json()["cells"] == {"slug": '"a"', "q": "2"}
    mended = api.send(f"/api/imports/{checked['id']}/rows/2", {"values": {"slug": '"b"'}}, "PUT").json()
    assert mended["errors_total"] == 0


def test_a_purged_set_leaves_nothing_of_its_imports(api: Imports, tmp_path: Any) -> None:
    checked = api.check(api.begin(b"slug,n\na,1\nb,oops\n", "a.csv", name="s"), **ZOO, **AS_JSON)
    api.commit(checked, leave_out_bad=True)
    waiting = api.begin(b"slug,n\nc,secret\n", "b.csv", taskset="s")
    api.send("/api/tasksets/s", {"archived": True}, "PATCH")
    assert api.send("/api/tasksets/s/purge", {"confirm": "s"}).status_code == 200
    assert [model.objects.count() for model in (Import, ImportProblem, Upload, SavedMapping)] == [0, 0, 0, 0]
    assert [path for path in (tmp_path / "blobs" / "imports").rglob("*") if path.is_file()] == []
    assert api.get(f"/api/imports/{waiting['id']}").status_code == 404

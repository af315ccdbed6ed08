"""What a person keeps for the page: their own, exact, and small."""

from __future__ import annotations

from typing import Any

import pytest

from accounts import actions, preferences
from accounts.callers import Caller
from tests.conftest import Person
from tests.support.tasksets import Api

PATH = "/api/me/preferences/table.s1"


@pytest.fixture
def api(ada_key: str) -> Api:
    return Api(ada_key)


def test_what_was_put_comes_back_as_it_was_written(api: Api) -> None:
    assert api.get(PATH).json() is None
    assert api.send(PATH, b'{"z":1.10,"a":[2]}', "PUT").status_code == 204
    assert api.get(PATH).content == b'{"z":1.10,"a":[2]}'
    api.send(PATH, {"b": 1}, "PUT")
    assert api.get(PATH).json() == {"b": 1} and api.get("/api/me/preferences/other").json() is None
    api.send(PATH, b"null", "PUT")
    assert api.get(PATH).json() is None


def test_a_preference_is_of_one_person(api: Api, cy_key: str) -> None:
    api.send(PATH, {"mine": 1}, "PUT")
    assert Api(cy_key).get(PATH).json() is None


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"a":1,"a":2}', b"NaN", b"[" * 100 + b"]" * 100])
def test_what_is_no_json_is_refused(api: Api, body: bytes) -> None:
    assert api.send(PATH, body, "PUT").status_code == 422


def test_a_preference_has_64_kib_at_most(api: Api) -> None:
    assert api.send(PATH, b'"%s"' % (b"x" * (64 * 1024 - 2)), "PUT").status_code == 204
    assert api.send(PATH, b'"%s"' % (b"x" * (64 * 1024 - 1)), "PUT").status_code == 413


@pytest.mark.parametrize("name", ["A", "-a", "a b", "x" * 101, "a%2Fb"])
def test_a_name_is_a_plain_word(api: Api, name: str) -> None:
    assert api.get(f"/api/me/preferences/{name}").status_code in (404, 422)


def test_a_person_has_a_thousand_at_most(api: Api, monkeypatch: Any) -> None:
    monkeypatch.setattr(preferences, "MOST", 2)
    assert [api.send(f"/api/me/preferences/p{n}", {}, "PUT").status_code for n in (1, 2, 3, 2)] == [204, 204, 409, 204]


def test_a_key_needs_write_and_a_viewer_on_the_page_does_not(ada_person: Person, db: None) -> None:
    key = actions.create_key(ada_person.caller, name="r", scopes=["read"]).secret
    assert Api(key).get(PATH).status_code == 200 and Api(key).send(PATH, {}, "PUT").status_code == 403
    viewer = Caller(ada_person.team.id, ada_person.user.id, "v", frozenset({"read"}), "viewer")
    preferences.set_preference(viewer, "table", b"1")
    assert preferences.get_preference(viewer, "table") == "1"


def test_a_run_has_none(ada: Caller) -> None:
    run = Caller(ada.team_id, None, "run", frozenset({"read", "write"}))
    with pytest.raises(Exception, match="Only a person"):
        preferences.get_preference(run, "table")

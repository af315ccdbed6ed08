"""One table of names, and every way in: each gives the same verdict, a handle or a 422 that tells the rule; each way to look one up finds the
same. A slash parts a native address, so there a name with one names nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from accounts.callers import Caller
from accounts.models import Project
from accounts.names import RULE
from environments import actions as environments
from environments.models import Environment
from tasksets.models import Taskset
from tests.support.imports import Imports, lines
from tests.support.tasksets import Api, row
from web.errors import AppError

UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
GOOD = {
    "plain": "plain",
    "My_Set 2": "my-set-2",
    "  spaces  around  ": "spaces-around",
    "--a--b--": "a-b",
    "Ünïcode Näme": "ncode-nme",
    "ＦＵＬＬ width": "width",
    "a b\u2028c": "a-b-c",
    "x" * 100: "x" * 100,
    "7": "7",
    "dead-beef": "dead-beef",
    "a!#$^&*()+=[]{}|;'\",.<>?~`b": "ab",
    "K2 \u212a": "k2-k",
    "emoji 🙂 name": "emoji-name",
    "..": None,
}
BAD = [
    "", " ", "\t", "___", "!!!", "日本語", "..", "@", "a@b", "name@3", "a:b", "a/b", "/", "../etc", "a\\b", "100%", "a%2Fb", "a\x00b", "a\nb", "a\x7fb", "a\x85b",
    "x" * 101, f"a{'!' * 255}", UUID, UUID.upper(), UUID.replace("-", ""), f"{{{UUID}}}", f"urn:uuid:{UUID}", f" {UUID} ", UUID.replace("-", "_"),
    UUID.replace("-", " "), "1" * 32,
]  # fmt: skip


@pytest.fixture(autouse=True)
def blobs(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


Way = Callable[[Imports, str], Any]


def rename(api: Imports, name: str) -> Any:
    api.send("/api/tasksets", {"name": "to be renamed"})
    return api.send("/api/tasksets/to-be-renamed", {"name": name}, "PATCH")


def bring(api: Imports, name: str) -> Any:
    made = api.send("/api/imports", {"upload_id": api.file(lines(row("a", env="e")), "x.jsonl"), "name": name})
    if made.status_code != 201:
        return made
    return api.commit(api.check(made.json()), mode="create")


def pull(api: Imports, name: str) -> Any:
    return api.send("/api/tasksets/pull", {"url": "http://127.0.0.1:9", "reference": "other", "name": name})


TASKSETS: dict[str, Way] = {
    "native create": lambda api, name: api.send("/api/tasksets", {"name": name}),
    "native rename": rename,
    "HUD create": lambda api, name: api.send("/v2/tasksets", {"name": name}),
    "HUD upload": lambda api, name: api.upload(name, row("a")),
    "import": bring,
}
OTHERS: dict[str, Way] = {
    "environment by image": lambda api, name: api.send("/api/environments", {"name": name, "image": "letters:1"}),
    "project": lambda api, name: api.send("/v2/projects", {"name": name}),
}


def refused(reply: Any) -> bool:
    assert reply.status_code in (200, 201, 202, 422), reply.content
    if reply.status_code == 422:
        assert reply.json()["error"]["details"]["problems"], "a refusal lists what is wrong"
    return bool(reply.status_code == 422)


@pytest.mark.parametrize("way", [*TASKSETS, *OTHERS, "pull"])
def test_a_bad_name_is_refused_the_same_on_every_way_in(way: str, ada_key: str) -> None:
    api, before = Imports(ada_key), Project.objects.count()
    make = {**TASKSETS, **OTHERS, "pull": pull}[way]
    wrong = [name for name in BAD if not refused(make(api, name))]
    assert wrong == []
    made = Taskset.objects.exclude(title="to be renamed")
    assert not made.exists() and not Environment.objects.exists() and Project.objects.count() == before


@pytest.mark.parametrize("way", [*TASKSETS, *OTHERS])
def test_a_good_name_gives_the_same_handle_on_every_way_in(way: str, ada_key: str) -> None:
    api, make = Imports(ada_key), {**TASKSETS, **OTHERS}[way]
    for name, handle in GOOD.items():
        if handle is None:
            continue
        reply = make(api, name)
        assert reply.status_code in (200, 201, 202), (name, reply.content)
        model: Any = {"environment by image": Environment, "project": Project}.get(way, Taskset)
        found = model.objects.filter(name=handle).first()
        assert found is not None, (name, [one.name for one in model.objects.all()])
        if model is Taskset:
            found.delete()


def test_the_rule_is_told_word_for_word(ada_key: str) -> None:
    api = Api(ada_key)
    for path, body in (("/api/tasksets", {"name": "a@b"}), ("/v2/tasksets", {"name": "a@b"}), ("/v2/projects", {"name": "a@b"})):
        assert api.send(path, body).json()["error"]["details"]["problems"] == [{"path": "name", "rule": RULE, "value": "a@b"}]
    told = api.upload("a@b", row("a")).json()["error"]["details"]["problems"]
    assert told == [{"path": "taskset_name", "rule": RULE, "value": "a@b"}]


def test_an_archive_for_an_environment_has_a_name_by_the_same_rule(ada: Caller) -> None:
    for name in BAD:
        with pytest.raises(AppError) as caught:
            environments.register_context(ada, name=name, body=io.BytesIO(b""), announced=None)
        assert caught.value.status == 422 and not Environment.objects.exists(), name


def found_by(api: Api, name: str) -> dict[str, str | None]:
    """What each address finds under a name: its handle, None for a 404."""
    coded = quote(name, safe="")
    replies = {
        "native": api.get(f"/api/tasksets/{coded}"),
        "versions": api.get(f"/api/tasksets/{coded}/versions"),
        "hud": api.get(f"/v2/tasksets/by-name/{coded}"),
        "environment": api.get(f"/api/environments/{coded}"),
    }
    for reply in replies.values():
        assert reply.status_code in (200, 404), reply.content
        assert reply.status_code == 200 or reply.json()["detail"], "always an object with a sentence"
    return {way: ("there" if reply.status_code == 200 else None) for way, reply in replies.items()}


def test_every_address_looks_a_name_up_by_the_same_rule(ada_key: str) -> None:
    api = Api(ada_key)
    for name, handle in GOOD.items():
        if handle is None:
            continue
        api.send("/api/tasksets", {"name": name})
        api.send("/api/environments", {"name": name, "image": "letters:1"})
        for asked in (name, handle, f" {handle.upper()} ", handle.replace("-", "_"), f"{handle}!"):
            assert set(found_by(api, asked).values()) == {"there"}, asked
        assert set(found_by(api, f"no {handle}").values()) == {None}


def test_a_bad_name_in_an_address_is_not_found_and_breaks_nothing(ada_key: str) -> None:
    api = Api(ada_key)
    assert {name: found for name in BAD if name and set((found := found_by(api, name)).values()) != {None}} == {}


def test_a_name_is_decoded_once(ada_key: str) -> None:
    api = Api(ada_key)
    api.send("/api/tasksets", {"name": "a 2fb"})
    for coded in ("a%252Fb", "a%2520b"):
        assert api.get(f"/api/tasksets/{coded}").status_code == 404 and api.get(f"/v2/tasksets/by-name/{coded}").status_code == 404
    assert json.loads(api.get("/v2/tasksets/by-name/a%202fb").content)["name"] == "a-2fb"

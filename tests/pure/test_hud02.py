"""The pure rules of HUD 0.2.x environments: calls, remote configs, matchers, rewards. The real 0.2.10 is asked in tests/peers."""

from __future__ import annotations

import copy
import io
import re
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from proctor.hud02 import matchers
from proctor.hud02.archives import UnsafeArchive, extract
from proctor.hud02.calls import BadCall, Call, expand_calls
from proctor.hud02.grading import reward_of
from proctor.hud02.remote_config import create_remote_config
from proctor.rollout.inside import Status, read_status


@dataclass
class Task:
    id: str | None = None
    config: dict[str, Any] | None = None
    setup: Any = None
    evaluate: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    sensitive_data: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("config", "calls"),
    [
        ("chrome.maximize", [Call("chrome.maximize")]),
        (("activate", 5, None), [Call("activate", (5, None))]),
        ({"function": "go", "args": ["a", {"b": 1}]}, [Call("go", ("a", {"b": 1}))]),
        ({"function": "go", "args": "a", "id": "t"}, [Call("go", ("a",), "t")]),
        ({"function": "go"}, [Call("go")]),
        ([], []),
        (["a", ("b", 1), {"function": "c", "args": []}, Call("d")], [Call("a"), Call("b", (1,)), Call("c"), Call("d")]),
    ],
)
def test_a_shorthand_becomes_calls(config: Any, calls: list[Call]) -> None:
    assert expand_calls(config) == calls


@pytest.mark.parametrize("config", [(), 5, None, {"args": []}, {"function": "a", "argz": 1}, (5, "a"), [("ok",), ()]])
def test_what_is_no_call_is_refused(config: Any) -> None:
    with pytest.raises(BadCall):
        expand_calls(config)


@pytest.mark.parametrize("name", ["os;print(1)", "a\nprint('INJECTED')", "a b", "", ".a", "a.", "1a", "a..b", "ü"])
@pytest.mark.parametrize("form", [lambda name: name, lambda name: (name, 1), lambda name: {"function": name, "args": []}])
def test_a_hostile_function_name_is_refused_in_every_form(name: str, form: Any) -> None:
    with pytest.raises(BadCall, match="not a dotted function name"):
        expand_calls(form(name))


def only(calls: list[Call]) -> dict[str, Any]:
    assert len(calls) == 1
    return calls[0].to_json()


def nested(function: str, args: list[Any], id: str | None = None) -> dict[str, Any]:
    return {"function": function, "args": args, "id": id, "metadata": None}


def test_an_explicit_config_comes_first() -> None:
    got = only(create_remote_config(Task(id="t", evaluate="other"), "evaluate", ("contains_text", "Paris"), final_response="Paris", metadata={"m": 1}))
    assert got == {"function": "evaluate", "args": [nested("contains_text", ["Paris"])], "id": None, "metadata": {"m": 1}}


def test_the_tasks_own_attribute_gets_its_id_and_the_answer_where_answers_are_compared() -> None:
    task = Task(id="t1", evaluate=("response_includes", "42"), metadata={"k": 1}, sensitive_data={"site": {"password": "x"}})
    got = only(create_remote_config(task, "evaluate", final_response="It is 42"))
    assert got["args"] == [nested("response_includes", ["42", "It is 42"], "t1")]
    assert got["metadata"] == {"k": 1, "sensitive_data": {"site": {"password": "x"}}}
    other = only(create_remote_config(Task(evaluate=("check", 1)), "evaluate", final_response="x"))
    assert other["args"] == [nested("check", [1])]


def test_the_tasks_config_is_the_one_argument() -> None:
    got = only(create_remote_config(Task(id="t2", config={"expected": "val"}), "evaluate", final_response="a"))
    assert got["args"] == [{"expected": "val", "id": "t2", "args": ["a"]}]


def test_an_id_alone_calls_the_private_function() -> None:
    got = only(create_remote_config(Task(id="t3"), "setup", final_response="a"))
    assert (got["function"], got["args"]) == ("private_setup", ["t3", "a"])


def test_nothing_known_calls_the_bare_function() -> None:
    assert only(create_remote_config(Task(), "evaluate"))["args"] == []
    with pytest.raises(ValueError, match="task or a config"):
        create_remote_config(None, "evaluate")


def test_c2_create_remote_config_leaves_no_trace_of_an_answer_in_the_task() -> None:
    task = Task(id="t", evaluate=[Call("response_is", ("a",))], config={"args": ["kept"]})
    before = copy.deepcopy(task)
    first = only(create_remote_config(task, "evaluate", final_response="one"))
    second = only(create_remote_config(task, "evaluate", final_response="two"))
    assert task == before
    assert [got["args"][0]["args"] for got in (first, second)] == [["a", "one"], ["a", "two"]]


@pytest.mark.parametrize(
    ("matcher", "response", "answer", "score"),
    [
        ("single", "It is PARIS.", " paris ", 1.0),
        ("single", "London", "Paris", 0.0),
        ("all", "red and blue", ["red", "green"], 0.5),
        ("fuzzy", "kitten", "sitting", 1 - 3 / 7),
        ("fuzzy", "", "", 1.0),
        ("fuzzy", "", "a", 0.0),
        ("regex", "a\nb", "a.b", 1.0),
        ("diff", 90, 100, 0.9),
        ("diff", 0, 0.0, 1.0),
        ("diff", "abcd", "bcde", 0.75),
    ],
)
def test_c2_evaluators_score_as_the_package_does(matcher: str, response: Any, answer: Any, score: float) -> None:
    assert matchers.MATCHERS[matcher](response, answer).score == pytest.approx(score)


def test_a_matcher_that_cannot_judge_says_so() -> None:
    with pytest.raises(ValueError, match="regular expression"):
        matchers.match_regex("a", "(")
    with pytest.raises(ValueError, match="no answer"):
        matchers.match_all("a", [])


@pytest.mark.parametrize(("returned", "reward"), [([1], 1.0), ([True], 1.0), ([{"reward": 0.0, "score": 1}], 0.0), ([{"score": 0.25}], 0.25), ([[1, 0]], 0.5), ([1, {"reward": 0.5}], 0.75)])
def test_c2_evaluate_makes_one_reward_of_what_was_returned(returned: list[Any], reward: float) -> None:
    assert reward_of(returned)[0] == reward


@pytest.mark.parametrize("returned", [[], [None], [[]], ["1"], [{"ok": True}], [float("nan")], [{"reward": float("inf")}]])
def test_c2_evaluate_without_a_number_is_an_error(returned: list[Any]) -> None:
    with pytest.raises(ValueError, match="returned"):
        reward_of(returned)


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ({"Status": "created"}, Status("created")),
        ({"Status": "running"}, Status("running")),
        ({"Status": "running", "Health": {"Status": "starting"}}, Status("starting")),
        ({"Status": "running", "Health": {"Status": "unhealthy"}}, Status("unhealthy")),
        ({"Status": "running", "Health": {"Status": "healthy"}}, Status("running")),
        ({"Status": "paused"}, Status("paused")),
        ({"Status": "exited", "ExitCode": 3}, Status("exited", 3)),
        ({"Status": "exited", "ExitCode": 137, "OOMKilled": True}, Status("exited", 137, True)),
        ({"Status": "removing"}, Status("gone")),
        ({}, Status("unknown")),
    ],
)
def test_c2_get_status_tells_states_apart(state: dict[str, Any], status: Status) -> None:
    assert read_status(state) == status


def tar_of(*members: tuple[str, bytes | None]) -> io.BytesIO:
    """A link where there is no content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            if content is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            entry.size = len(content or b"")
            tar.addfile(entry, io.BytesIO(content or b""))
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize("bad", [("../out", b"x"), ("/etc/out", b"x"), ("a/../../out", b"x"), ("link", None)])
def test_c2_get_archive_is_unpacked_without_leaving_its_folder(tmp_path: Path, bad: tuple[str, bytes | None]) -> None:
    (tmp_path / "into").mkdir()
    with pytest.raises(UnsafeArchive, match=re.escape(bad[0])):
        extract(tar_of(("good", b"1"), bad), tmp_path / "into")
    assert list((tmp_path / "into").iterdir()) == []
    assert [path.read_bytes() for path in extract(tar_of(("good", b"1")), tmp_path / "into")] == [b"1"]

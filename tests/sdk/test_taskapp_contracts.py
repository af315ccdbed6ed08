"""The Task App contract's models and pure rules, against what the real server was recorded to send."""

from __future__ import annotations

import contextlib
import json
import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from proctor.taskapp.auth import authorised, given_keys, require_key
from proctor.taskapp.correlation import correlation_id, echo, echo_problems, with_id
from proctor.taskapp.damage import NotJson, lost_paths, parse_datetime, read_json
from proctor.taskapp.datasets import DatasetRegistry, DatasetSpec, NoSuchDataset, normalise_seed
from proctor.taskapp.encode import CannotEncode, to_json
from proctor.taskapp.errors import TaskAppError, error_payload, read_error, without_secrets
from proctor.taskapp.inference import normalise_inference_url
from proctor.taskapp.proxy import RULES, actions_in, fit_request, synthesise_calls
from proctor.taskapp.reading import BadReply, read_rollout
from proctor.taskapp.rollouts import DecisionSample, RolloutMode, RolloutRequest, RolloutResponse, RolloutSafetyConfig, alternating
from proctor.taskapp.rubrics import blend, load_rubric, score_events, score_outcome, strict_problems
from proctor.taskapp.tasks import ServiceInfo, TaskInfo
from tests.support.fake_task_app import exchange, recorded


def read(body: Any, **sent: Any) -> Any:
    return read_rollout(json.dumps(body).encode(), **sent)


def request(**changes: Any) -> dict[str, Any]:
    return {"run_id": "r", "env": {}, "policy": {}, "ops": ["agent", "env"], "mode": "eval", **changes}


# — requests


def test_c1_rollout_mode_is_required_and_both_values_round_trip() -> None:
    for mode in ("rl", "eval"):
        assert json.loads(RolloutRequest.model_validate(request(mode=mode)).model_dump_json())["mode"] == mode
    with pytest.raises(ValidationError) as refused:
        RolloutRequest.model_validate({key: value for key, value in request().items() if key != "mode"})
    assert refused.value.errors()[0]["loc"] == ("mode",)


def test_c1_rollout_request_builds_what_was_recorded_field_by_field() -> None:
    sent = exchange("10-")["request"]["body"]
    policy = {"policy_name": "mock", "config": {"model": "mock-1", "inference_url": "http://127.0.0.1:8902/v1", "temperature": 0.0}}
    built = RolloutRequest.model_validate(
        {"run_id": "run-eval-1", "env": {"env_name": "counting", "seed": 1}, "policy": policy, "ops": alternating(4), "mode": RolloutMode.EVAL}
    )
    assert json.loads(built.model_dump_json()) == sent
    assert list(json.loads(built.model_dump_json())) == list(sent)


@pytest.mark.parametrize(
    "safety", [{"max_ops": -1}, {"max_ops": 0}, {"max_time_s": -1}, {"max_time_s": math.nan}, {"max_time_s": math.inf}, {"max_time_s": 1e9}]
)
def test_c1_safety_limits_are_positive_finite_and_capped(safety: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        RolloutSafetyConfig.model_validate(safety)


def test_ops_are_of_one_kind_and_on_done_is_known() -> None:
    for wrong in ({"ops": ["agent", {"type": "env"}]}, {"on_done": "explode"}, {"record": {"trace_format": "huge"}}):
        with pytest.raises(ValidationError):
            RolloutRequest.model_validate(request(**wrong))
    assert RolloutRequest.model_validate(request(ops=[{"type": "agent"}, {"op": "env"}, {}])).op_kinds() == ["agent", "env", ""]


# — replies


@pytest.mark.parametrize("name", ["10-", "11-", "12-rollout-trace-full", "12-rollout-trace-compact"])
def test_c1_record_formats_yield_the_same_number_of_turns(name: str) -> None:
    found = read(recorded(name))
    assert len(found.turns) == 4
    assert [turn.reward for turn in found.turns] == [0.0, 0.0, 1.0, 0.0]
    assert found.envelope == {"10-": None, "11-": "structured", "12-rollout-trace-full": "full", "12-rollout-trace-compact": "compact"}[name]


def test_c1_rollout_steps_are_read_from_both_shapes_of_a_tool_call() -> None:
    body = recorded("13-")
    nested = json.loads(json.dumps(body))
    for step in nested["trajectories"][0]["steps"]:
        step["tool_calls"] = [
            {"id": c["id"], "type": "function", "function": {"name": c["tool_name"], "arguments": c["arguments"]}} for c in step["tool_calls"]
        ]
    plain, other = read(body), read(nested)
    assert [turn.reward for turn in plain.turns] == [0.0, 1.0]
    for found in (plain, other):
        assert [(call.name, call.arguments) for turn in found.turns for call in turn.tool_calls] == [("add", {"by": 1})] * 2
    assert other.turns[0].tool_calls[0].raw["function"]["name"] == "add"


def test_c1_metrics_are_recomputed_and_a_mismatch_is_flagged_with_both_numbers() -> None:
    body = recorded("10-")
    body["metrics"]["mean_return"] = 0.25
    found = read(body)
    assert found.flags == ["metrics_mismatch"]
    assert (found.metrics.mean_return, found.recomputed_mean, found.score()) == (0.25, 1.0, 1.0)


def test_a_score_of_zero_is_a_score_and_absent_numbers_are_none() -> None:
    body = recorded("10-")
    body["metrics"] |= {"episode_returns": [0.0], "mean_return": 0.0, "outcome_score": None}
    assert (read(body).score(), read(body).score("outcome_score")) == (0.0, None)


def test_c1_rollout_response_reader_is_tolerant_and_keeps_the_whole_text() -> None:
    found = read({**recorded("10-"), "unheard_of": {"kept": 1.10}})
    assert '"unheard_of": {"kept": 1.1}' in found.text
    with pytest.raises(ValidationError):
        RolloutResponse.model_validate({**recorded("10-"), "metrics": {}})


def test_c1_the_same_run_reads_alike_from_trace_and_from_trajectories() -> None:
    body = recorded("11-")
    by_trace, by_trajectories = read({**body, "trajectories": []}), read({**body, "trace": None})
    assert (by_trace.source, by_trajectories.source) == ("trace", "trajectories")

    def seen(found: Any) -> Any:
        return found.score(), [(turn.reward, turn.done, [(c.name, c.arguments) for c in turn.tool_calls]) for turn in found.turns]

    assert seen(by_trace) == seen(by_trajectories)


def test_decision_samples_keep_tokens_and_logprobs_from_either_source() -> None:
    body = recorded("11-")
    bare = json.loads(json.dumps(body))
    bare["trajectories"][0]["decision_samples"] = None
    for found in (read(body, correlation_id="trace_abc"), read(bare, correlation_id="trace_abc")):
        samples = [turn.sample for turn in found.turns]
        assert [(s["step"], s["tokens"], s["logprobs"], s["reward"], s["correlation_id"]) for s in samples] == [
            (n, ["add"], [-0.1], reward, "trace_abc") for n, reward in enumerate([0.0, 0.0, 1.0, 0.0])
        ]
        assert samples[0]["messages"] and samples[0]["model"] == "mock-1"


def test_a_decision_sample_whose_lengths_differ_is_flagged_and_not_kept() -> None:
    body = recorded("11-")
    body["trace"] = None
    body["trajectories"][0]["decision_samples"] = [{"step": 0, "tokens": ["a", "b"], "logprobs": [-0.1]}]
    found = read(body)
    assert found.flags == ["bad_decision_sample"] and found.turns[0].sample is None
    with pytest.raises(ValidationError):
        DecisionSample.model_validate({"step": 0, "messages": [], "completion": {}, "tokens": ["a"], "logprobs": []})


def test_echoes_and_lengths_that_do_not_hold_are_flagged() -> None:
    body = recorded("11-")
    body["trajectories"][0]["length"] = 9
    found = read(body, run_id="another", correlation_id="else")
    assert found.flags == ["length_mismatch", "run_id_mismatch", "correlation_mismatch"]


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b'{"trajectories": []}', b'{"metrics": {}, "trajectories": 3}', b"[" * 100_000, b"\xff\xfe"])
def test_what_is_no_rollout_is_refused_with_a_sentence(body: bytes) -> None:
    with pytest.raises(BadReply):
        read_rollout(body)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_no_reply_whatever_breaks_the_reader(value: Any) -> None:
    body = {**recorded("10-"), "trace": value, "branches": value, "trajectories": [{"steps": value, "decision_samples": None, "length": value}]}
    with contextlib.suppress(BadReply):
        read(body)


# — damage


def test_c1_circular_markers_are_marked_as_lost_by_the_peer() -> None:
    value, marks = read_json(json.dumps(recorded("03-")))
    assert lost_paths(marks) == ["dataset", "limits"]
    info = ServiceInfo.model_validate(value)
    assert info.dataset is None and info.limits is None and info.inference is not None and info.inference.model == "mock-1"


def test_python_datetimes_are_read_by_a_strict_pattern_and_never_evaluated() -> None:
    assert parse_datetime("datetime.datetime(2026, 11, 30, 15, 3, 6, 142251, tzinfo=datetime.timezone.utc)") == "2026-11-30T15:03:06.142251+00:00"
    for text in ("datetime.datetime(2026, 13, 1, 0, 0)", "datetime.datetime(2026, 1, 1, 0, 0, __import__('os'))", "datetime.datetime()", "now"):
        assert parse_datetime(text) is None


def test_nan_becomes_null_and_is_marked_with_its_place() -> None:
    value, marks = read_json('{"a": [1, NaN], "b": -Infinity}')
    assert value == {"a": [1, None], "b": None}
    assert [(mark.path, mark.kind) for mark in marks] == [("a[1]", "not_finite"), ("b", "not_finite")]
    with pytest.raises(NotJson):
        read_json('{"a":' * 70 + "1" + "}" * 70)


def test_half_surrogates_and_nuls_are_mended_and_marked() -> None:
    value, marks = read_json('{"a\\ud800": "x\\u0000y\\udc00", "fine": "\\ud83d\\ude00"}')
    assert value == {"a\ufffd": "x\ufffdy\ufffd", "fine": "\U0001f600"}
    assert [(mark.path, mark.kind) for mark in marks] == [("a\ufffd", "not_text")]
    assert read_error(500, b'{"error":{"code":"c","message":"a\\u0000\\ud800"}}').message == "a\ufffd\ufffd"


# — tasks


@given(st.dictionaries(st.text(min_size=1).filter(lambda key: key not in TaskInfo.model_fields), st.integers() | st.text() | st.lists(st.booleans())))
def test_c1_task_info_round_trips_unknown_keys(extra: dict[str, Any]) -> None:
    body = recorded("05-")
    sent = {**body, **extra, "dataset": {**body["dataset"], "more": extra}}
    assert json.loads(TaskInfo.model_validate(sent).model_dump_json(exclude_unset=True)) == sent


# — errors and keys


def test_c1_one_envelope_and_no_extra_overrides_the_code() -> None:
    assert error_payload("bad", "It is bad", code="other", n=1) == {"error": {"code": "bad", "message": "It is bad", "details": {"code": "other", "n": 1}}}


@pytest.mark.parametrize(
    ("status", "body", "code", "auth"),
    [
        (400, recorded("21-"), "missing_inference_url", False), (400, recorded("24-"), "unauthorised", True), (401, {"error": {"code": "x", "message": "m"}}, "x", True),
        (403, {"detail": "no"}, None, True), (422, recorded("20-"), "invalid", False), (500, "Internal Server Error", None, False),
    ],
)  # fmt: skip
def test_both_forms_of_an_error_are_read_and_refused_keys_are_alike(status: int, body: Any, code: str | None, auth: bool) -> None:
    found = read_error(status, body.encode() if isinstance(body, str) else json.dumps(body).encode())
    assert (found.code, found.auth) == (code, auth) and found.message


def test_secrets_are_taken_out_also_as_json_escapes_them() -> None:
    assert without_secrets('a sk-1"2 b sk-1\\"2', ['sk-1"2']) == "a [redacted] b [redacted]"


def test_one_good_key_of_any_carrier_is_enough_and_refusals_say_nothing() -> None:
    headers = {"x-api-key": "no, alias", "x-api-keys": "b", "authorization": "Bearer c,d"}
    assert given_keys(headers) == ["no", "alias", "b", "c", "d"]
    assert authorised(["no", "alias"], ["main", "alias"]) and not authorised(["no"], ["main"]) and not authorised([], ["main"])
    with pytest.raises(TaskAppError) as refused:
        require_key({"x-api-key": "wrong"}, ["right-key-0123456789"])
    assert (refused.value.status, refused.value.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "right" not in refused.value.message and "wrong" not in refused.value.message.split("missing or ")[0]


# — datasets and seeds

SPEC = DatasetSpec(id="counting", name="Counting", splits=["train", "test"], default_split="train", cardinality=16)


def test_c1_dataset_spec_checks_the_split_on_merge_too() -> None:
    with pytest.raises(ValidationError):
        DatasetSpec(id="a", name="a", splits=["train"], default_split="nope")
    with pytest.raises(ValueError, match="nope"):
        SPEC.merged(default_split="nope")


def test_c1_registry_refuses_a_second_id_unless_it_replaces() -> None:
    registry = DatasetRegistry()
    registry.register(SPEC, lambda spec: "old")
    assert registry.get("counting") == "old"
    with pytest.raises(ValueError, match="already"):
        registry.register(SPEC, lambda spec: "new")
    registry.register(SPEC, lambda spec: "new", replace=True)
    assert registry.get("counting") == "new"


def test_c1_registry_lists_sorted_and_names_those_there_are() -> None:
    registry = DatasetRegistry()
    for name in ("b", "a"):
        registry.register(DatasetSpec(id=name, name=name), lambda spec: spec.id)
    assert registry.list() == ["a", "b"] and registry.describe("a").id == "a"
    with pytest.raises(NoSuchDataset, match="there are: a, b"):
        registry.describe("c")


def test_c1_registry_loads_once_under_concurrency_and_anew_for_another_spec() -> None:
    loads: list[int | None] = []
    together = threading.Barrier(20)
    registry = DatasetRegistry(cache_size=2)
    registry.register(SPEC, lambda spec: loads.append(spec.cardinality) or len(loads))

    def ask() -> None:
        together.wait()
        registry.get("counting")

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [16]
    registry.get("counting", cardinality=8)
    assert loads == [16, 8]
    registry.get("counting", cardinality=4)
    registry.get("counting")
    assert loads == [16, 8, 4, 16]  # only two are kept


def test_c1_ensure_split_keeps_its_five_cases() -> None:
    registry = DatasetRegistry()
    registry.register(SPEC, lambda spec: None)
    registry.register(DatasetSpec(id="free", name="free"), lambda spec: None)
    registry.register(DatasetSpec(id="strict", name="strict", splits=["a"]), lambda spec: None)
    assert [registry.ensure_split(*case) for case in (("free", "x"), ("free", None), ("counting", "test"), ("counting", None))] == ["x", "default", "test", "train"]
    for case in (("counting", "nope"), ("strict", None)):
        with pytest.raises(ValueError):
            registry.ensure_split(*case)


def test_c1_seeds_are_whole_numbers_and_wrapping_is_visible() -> None:
    for wrong in (3.9, True, None, "x", "1.5", -5, b"1"):
        with pytest.raises(ValueError):
            normalise_seed(wrong, cardinality=16)
    seed = normalise_seed(37, cardinality=16)
    assert (seed.requested, seed.effective, seed.wrapped) == (37, 5, True)
    assert normalise_seed("7", cardinality=16).effective == 7 and not normalise_seed(7, cardinality=16).wrapped
    assert normalise_seed(-5, cardinality=16, negatives="wrap").effective == 11


# — rubrics

RUBRIC = load_rubric({"version": "1", "criteria": [
    {"id": "reached", "description": "d", "weight": 2.0, "required": True}, {"id": "short", "description": "d"}]})  # fmt: skip


def test_c1_rubric_missing_is_not_zero_and_required_is_enforced() -> None:
    assert score_outcome({"reached": 1.0}, RUBRIC).score == 1.0
    assert score_outcome({"reached": 1.0}, RUBRIC).missing == ["short"]
    missing = score_outcome({"short": 1.0}, RUBRIC)
    assert (missing.score, missing.reason) == (0.0, "required and not met: reached")


def test_c1_rubric_reproduces_the_packages_numbers_in_compat_mode() -> None:
    told = recorded("10-")["metrics"]["details"]["outcome"]
    scored = score_outcome({"reached": 1.0, "short": 0.25}, RUBRIC, compat=True)
    assert (scored.aggregation, scored.score, scored.per_criterion) == (told["aggregation"], told["score"], told["per_criterion"])
    assert score_outcome({"short": 1.0}, RUBRIC, compat=True).score == pytest.approx(1 / 3)
    events = load_rubric({"version": "1", "criteria": [{"id": "p", "description": "d"}], "aggregation": "sum"})
    given = [{"id": "p", "score": 1.0}, {"criterion": "p", "score": 0.5}]
    assert score_events(given, events, compat=True).score == 0.5
    assert score_events(given, events, reduction="mean").score == 0.75


def test_rubrics_blend_load_and_are_refused_as_told() -> None:
    base = load_rubric({"version": "1", "goal_text": "g", "criteria": [{"id": "a", "description": "x", "weight": 2}, {"id": "b", "description": "y"}], "aggregation": "sum"})
    override = load_rubric({"version": "2", "criteria": [{"id": "a", "description": "z", "weight": 3, "required": True}], "aggregation": "inherit"})
    mixed = blend(base, override)
    assert mixed is not None and [(c.id, c.weight, c.required, c.description) for c in mixed.criteria] == [("a", 6.0, True, "z"), ("b", 1.0, False, "y")]
    assert (mixed.aggregation, mixed.goal_text, mixed.version) == ("sum", "g", "2")
    with pytest.raises(ValueError, match="judge"):
        load_rubric({"event": [], "outcome": []})
    with pytest.raises(ValueError, match="same id"):
        load_rubric({"version": "1", "criteria": [{"id": "a", "description": ""}, {"id": "a", "description": ""}]})
    assert score_outcome({}, None).score is None
    assert "goal_text is empty" in strict_problems(RUBRIC)  # type: ignore[arg-type]


# — correlation, inference, proxy, encoding


def test_c1_correlation_ids_are_parsed_from_any_place_and_echoed_twice() -> None:
    assert correlation_id({}, "http://h/v1?x=1&cid=t") == "t"
    assert correlation_id({"trace_correlation_id": "a", "trace": "b"}, "http://h?cid=c") == "a"
    assert with_id("http://h/v1?x=1", "a/b") == "http://h/v1?x=1&cid=a%2Fb"
    assert with_id("http://h/v1?cid=t", "other") == "http://h/v1?cid=t"
    echoed = echo({"trajectories": [{}]}, "t")
    assert (echoed["trace_correlation_id"], echoed["pipeline_metadata"]["trace_correlation_id"]) == ("t", "t") and echo_problems(echoed, "t") == []
    assert echo_problems({}, "t") == ["no place"]


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", "https://api.openai.com/v1/chat/completions"), (None, "https://api.openai.com/v1/chat/completions"),
        ("http://h", "http://h/v1/chat/completions"), ("h:8001", "http://h:8001/v1/chat/completions"), ("http://h/", "http://h/v1/chat/completions"),
        ("http://h/v1", "http://h/v1/chat/completions"), ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h/v1/chat", "http://h/v1/chat/completions"), ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/other", "http://h/other/v1/chat/completions"), ("http://h/v1?cid=t", "http://h/v1/chat/completions?cid=t"),
        ("http://h?cid=t/v1/chat/completions", "http://h/v1/chat/completions?cid=t"), ("http://taskapp:8001", "http://taskapp:8001/v1/chat/completions"),
        ("http://[::1]:8001/v1", "http://[::1]:8001/v1/chat/completions"), ("https://h.example/v1?x=1&cid=a%2Fb", "https://h.example/v1/chat/completions?x=1&cid=a%2Fb"),
        ("http://h/v1?cid=a/b", "http://h/v1/chat/completions?cid=a%2Fb"),
    ],
)  # fmt: skip
def test_c1_inference_urls_are_normalised(given: str | None, url: str) -> None:
    assert normalise_inference_url(given) == url


@pytest.mark.parametrize("text", ["ftp://h/v1", "javascript:alert(1)", "http://", "file:///etc/passwd"])
def test_what_is_no_http_url_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        normalise_inference_url(text)


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ('{"actions": ["up", "left"]}', ["up", "left"]), ('I will go.\n{"actions": ["up"]}', ["up"]), ('{"actions": "up"}', ["up"]), ('{"actions": []}', []),
        ("Actions: up, left", ["up", "left"]), ("actions: [up; left]", ["up", "left"]), ("Action: jump", ["jump"]), ("Action 1: up\nAction 2: left", ["up", "left"]),
        ("Thought: go\nAction 1) up", ["up"]), ("nothing to do", []), ("{broken", []), ('{"other": 1}\nActions: up', ["up"]),
    ],
)  # fmt: skip
def test_c1_proxy_reads_actions_out_of_prose(text: str, actions: list[str]) -> None:
    assert actions_in(text) == actions


def test_c1_proxy_tags_what_it_synthesised_and_touches_nothing_else() -> None:
    made = synthesise_calls({"role": "assistant", "content": "Actions: up"})
    assert made["synthesised"] == {"rules": RULES} and made["tool_calls"][0]["synthesised"] is True
    own = {"role": "assistant", "content": "Actions: up", "tool_calls": [{"id": "1"}]}
    assert synthesise_calls(own) == own
    step = {**recorded("13-")["trajectories"][0]["steps"][0], "tool_calls": made["tool_calls"]}
    body = {**recorded("13-"), "trajectories": [{**recorded("13-")["trajectories"][0], "steps": [step], "length": 1}]}
    assert read(body).turns[0].tool_calls[0].synthesised


def test_proxy_fits_requests_to_the_vendor() -> None:
    tools = [{"type": "function", "function": {"name": "add"}}]
    body = {"model": "gpt-5-mini", "max_tokens": 64, "temperature": 1, "reasoning": {}, "tools": tools, "messages": [{"role": "user", "content": "hi"}]}
    fitted = fit_request(body, system_hint="Call a tool.")
    assert "temperature" not in fitted and "reasoning" not in fitted and fitted["max_completion_tokens"] == 16_000
    assert fitted["tool_choice"]["function"]["name"] == "add" and fitted["parallel_tool_calls"] is False
    assert fit_request(fitted, system_hint="Call a tool.")["messages"] == fitted["messages"] and body["messages"] == [{"role": "user", "content": "hi"}]


def test_values_are_encoded_exactly_or_refused_with_their_place() -> None:
    shared = {"a": 1}
    assert to_json({"x": shared, "y": shared}) == b'{"x": {"a": 1}, "y": {"a": 1}}'
    circle: dict[str, Any] = {}
    circle["self"] = circle
    for wrong, place in ((circle, "$.self"), ({"n": math.nan}, "$.n"), ({1: "a", "1": "b"}, "'1'"), ({"o": object()}, "$.o")):
        with pytest.raises(CannotEncode) as refused:
            to_json(wrong)
        assert place in str(refused.value)

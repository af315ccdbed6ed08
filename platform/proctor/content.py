"""A task's content as exact JSON text: digits, key order and strings survive, whatever sent them.

`parse_tasks` reads rows in the spellings of the HUD upload (`name`, `env: {name}`, `task_id`), of the export (`name`, `env`,
`scenario`) and of the SDK (`slug`, `env`, `id`), and gives the text that is stored and its content id. No number passes through
a float. A row whose text equals its own decoding, encoded again, holds no duplicate key and no odd number, so most rows cost one
decode and three encodes; all others go through the standard library, which finds the place of each problem. Never imports Django.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

if TYPE_CHECKING:
    from proctor.wire.errors import Problem

MAX_DEPTH = 64
MAX_PROBLEMS = 1000
TEXT_LIMIT = 255
SLUG_KEYS, ID_KEYS = ("name", "slug"), ("task_id", "scenario", "id")
OBJECT_KEYS = ("args", "agent_config", "columns", "runtime_config", "verifier")
KNOWN_KEYS = {*SLUG_KEYS, *ID_KEYS, *OBJECT_KEYS, "env", "validation"}
RUNTIME_KEYS = {"image", "compose", "resources", "limits"}
LIMIT_KEYS = {"startup_timeout_s", "run_timeout_s"}
RESOURCE_KEYS = {"cpu", "memory_mb", "storage_mb", "gpu", "os", "tpu"}
NULL = Raw(b"null")


@dataclass(frozen=True, slots=True)
class TaskText:
    """One checked row. `text` is what is stored, `content_id` the SHA-256 of its canonical form; the slug is in neither."""

    text: str
    content_id: str
    env: str
    task_id: str
    slug: str


def _problem(*, path: str, rule: str, value: str | None = None) -> Problem:
    """Imported when there is one: pydantic takes longer than all else that the SDK starts with."""
    from proctor.wire.errors import Problem

    return Problem(path=path, rule=rule, value=value)


class BadContent(ValueError):
    """Rows that can't be stored, with every problem and its path."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(f"{problem.path}: {problem.rule}" for problem in problems[:3]))
        self.problems = list(problems)


class Content(msgspec.Struct, omit_defaults=True):
    """The eight fields in their stored order; nulls are left out."""

    env: str
    id: str
    args: Any = None
    validation: Any = None
    agent_config: Any = None
    columns: Any = None
    runtime_config: Any = None
    verifier: Any = None


class StoredTask(msgspec.Struct):
    """A stored text taken apart; JSON fields stay text, `null` when absent."""

    env: str
    id: str
    args: Raw = NULL
    validation: Raw = NULL
    agent_config: Raw = NULL
    columns: Raw = NULL
    runtime_config: Raw = NULL
    verifier: Raw = NULL


class _ExportRow(msgspec.Struct):
    name: str
    env: str
    scenario: str
    args: Raw
    validation: Raw
    agent_config: Raw
    columns: Raw
    runtime_config: Raw
    verifier: Raw


def _exact(text: str) -> Raw:
    """A number's own text. Raises ValueError when a double can't hold it."""
    if not math.isfinite(float(text)):
        raise ValueError(text)
    return Raw(text.encode())


_decode = msgspec.json.Decoder(float_hook=_exact).decode
_decode_stored = msgspec.json.Decoder(StoredTask).decode
_encode = msgspec.json.Encoder().encode
_encode_canonical = msgspec.json.Encoder(order="deterministic").encode


def parse_row(row: bytes, path: str = "") -> TaskText:
    """One row. Raises BadContent."""
    return check_row(read_exact(row, path), path)


def check_row(value: Any, path: str = "") -> TaskText:
    """One row as `read_exact` gives it. Raises BadContent."""
    found = _Findings()
    task = _check_row(value, path, found)
    if task is None or found.problems:
        raise BadContent(found.problems)
    return task


def parse_tasks(rows: Sequence[bytes]) -> list[TaskText]:
    """All rows of one request, slugs unique. Raises BadContent with the problems of every row (the first 1,000)."""
    tasks: list[TaskText] = []
    problems: list[Problem] = []
    for index, row in enumerate(rows):
        try:
            tasks.append(parse_row(bytes(row), f"tasks[{index}]"))
        except BadContent as error:
            problems += error.problems
        if len(problems) >= MAX_PROBLEMS:
            break
    problems = problems or duplicate_slugs([task.slug for task in tasks])
    if problems:
        raise BadContent(problems)
    return tasks


def parse_slugs(rows: Sequence[bytes]) -> list[str]:
    """Only the slugs of the rows, for what is to be removed. Raises BadContent."""
    found = _Findings()
    slugs = [_slug_of(read_exact(bytes(row), f"tasks[{index}]"), f"tasks[{index}]", found) for index, row in enumerate(rows)]
    problems = found.problems or duplicate_slugs(slugs)
    if problems:
        raise BadContent(problems)
    return slugs


def duplicate_slugs(slugs: Sequence[str]) -> list[Problem]:
    if len(set(slugs)) == len(slugs):
        return []
    places: dict[str, list[int]] = {}
    for index, slug in enumerate(slugs):
        places.setdefault(slug, []).append(index)
    return [_twice(slug, at) for slug, at in places.items() if len(at) > 1]


def _twice(slug: str, at: Sequence[int]) -> Problem:
    text = ", ".join(str(index) for index in at)
    return _problem(path=f"tasks[{at[1]}].name", rule=f"the slug stands more than once, in rows {text}", value=shown(slug))


def read_stored(text: str) -> StoredTask:
    return _decode_stored(text)


def export_row(text: str, slug: str) -> bytes:
    """The row as the HUD export gives it: all nine fields, absent ones null, every value as stored."""
    task = _decode_stored(text)
    row = _ExportRow(
        slug, task.env, task.id, task.args, task.validation, task.agent_config, task.columns, task.runtime_config, task.verifier
    )
    return _encode(row)


def read_exact(row: bytes, path: str = "", max_depth: int = MAX_DEPTH) -> Any:
    """The value of JSON text with every number as it stands (`Raw` where Python's own would differ). Raises BadContent."""
    value = _read_fast(row)
    if value is _NOT_PLAIN:
        return _read_slow(row, path, max_depth)
    if row.count(b"{") + row.count(b"[") > max_depth and is_deeper(value, max_depth):
        raise BadContent([_too_deep(path)])
    return value


_NOT_PLAIN = object()


def _read_fast(row: bytes) -> Any:
    """The value, or _NOT_PLAIN when the text is not what encoding it again gives (white space aside)."""
    try:
        value = _decode(row)
        again = _encode(value)
    except (ValueError, RecursionError):
        return _NOT_PLAIN
    return value if again == row or again == msgspec.json.format(row, indent=-1) else _NOT_PLAIN


def _parts(value: Any) -> Iterator[Any]:
    return iter(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())


def is_deeper(value: Any, max_depth: int) -> bool:
    level, depth = [value], 0
    while level and depth < max_depth:
        level = [part for whole in level for part in _parts(whole) if isinstance(part, dict | list)]
        depth += 1
    return bool(level)


@dataclass(frozen=True)
class _Odd:
    """A number that JSON or a double does not have."""

    text: str
    rule: str


def _read_slow(row: bytes, path: str, max_depth: int) -> Any:
    twice: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items):
            keys = [key for key, _value in items]
            twice[id(made)] = (made, sorted({key for key in keys if keys.count(key) > 1}))
        return made

    try:
        value = json.loads(row.decode(), object_pairs_hook=pairs, parse_float=_float, parse_int=_integer, parse_constant=_constant)
    except RecursionError:
        raise BadContent([_too_deep(path)]) from None
    except ValueError as error:
        raise BadContent([_problem(path=path, rule=f"must be JSON in UTF-8: {shown(str(error))}")]) from None
    problems = list(_odd_places(value, path, {key: keys for key, (_made, keys) in twice.items()}, max_depth))
    if problems:
        raise BadContent(problems[:MAX_PROBLEMS])
    return value


def _float(text: str) -> Raw | _Odd:
    return Raw(text.encode()) if math.isfinite(float(text)) else _Odd(text, "must be finite as a double")


def _integer(text: str) -> int | Raw:
    return Raw(text.encode()) if text == "-0" or len(text) > 18 else int(text)


def _constant(text: str) -> _Odd:
    return _Odd(text, "NaN and infinities are not JSON")


def _odd_places(value: Any, path: str, twice: Mapping[int, list[str]], left: int) -> Iterator[Problem]:
    """Every duplicate key, impossible number, lone surrogate and too deep place under `path`."""
    if isinstance(value, _Odd):
        yield _problem(path=path, rule=value.rule, value=value.text[:200])
    elif isinstance(value, str) and _SURROGATE.search(value):
        yield _problem(path=path, rule="must hold no lone surrogate", value=shown(value))
    elif isinstance(value, dict | list) and left == 0:
        yield _too_deep(path)
    elif isinstance(value, dict):
        for key in twice.get(id(value), ()):
            yield _problem(path=_under(path, key), rule="the key stands more than once in its object", value=shown(key))
        for key, part in value.items():
            if _SURROGATE.search(key):
                yield _problem(path=_under(path, key), rule="a key must hold no lone surrogate", value=shown(key))
            yield from _odd_places(part, _under(path, key), twice, left - 1)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _odd_places(part, f"{path}[{index}]", twice, left - 1)


_SURROGATE = re.compile("[\ud800-\udfff]")


def _too_deep(path: str) -> Problem:
    return _problem(path=path[:500], rule=f"JSON must not be nested deeper than {MAX_DEPTH} levels")


def _under(path: str, key: str) -> str:
    return f"{path}.{shown(key)}" if path else shown(key)


def shown(text: str) -> str:
    """At most 200 characters of it, safe to send."""
    return text[:200].encode("utf-8", "backslashreplace").decode()


class _Findings:
    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, path: str, rule: str, value: object = None) -> None:
        text = None if value is None else shown(bytes(value).decode() if isinstance(value, Raw) else str(value))
        self.problems.append(_problem(path=path, rule=rule, value=text))


def _check_row(row: Any, path: str, found: _Findings) -> TaskText | None:
    if not isinstance(row, dict):
        found.add(path, "must be an object", row)
        return None
    for key in row.keys() - KNOWN_KEYS:
        found.add(_under(path, key), "is not a field of a task")
    _check_shapes(row, path, found)
    env, task_id = _env_of(row, path, found), _named(_only_one(row, ID_KEYS, path, found), _under(path, "task_id"), found)
    slug = _slug_of(row, path, found)
    if found.problems:
        return None
    content = Content(env, task_id, *(row.get(key) for key in Content.__struct_fields__[2:]))
    text = _encode(content)
    return TaskText(text.decode(), hashlib.sha256(_encode_canonical(content)).hexdigest(), env, task_id, slug)


def _check_shapes(row: Mapping[str, Any], path: str, found: _Findings) -> None:
    for key in OBJECT_KEYS:
        if not isinstance(row.get(key), dict | None):
            found.add(_under(path, key), "must be an object", row[key])
    validation = row.get("validation")
    if validation is not None and not (isinstance(validation, list) and all(isinstance(part, dict) for part in validation)):
        found.add(_under(path, "validation"), "must be a list of objects", validation)
    if isinstance(row.get("runtime_config"), dict):
        _check_runtime(row["runtime_config"], _under(path, "runtime_config"), found)
    if isinstance(row.get("verifier"), dict):
        _check_verifier(row["verifier"], _under(path, "verifier"), found)


def _check_runtime(config: Mapping[str, Any], path: str, found: _Findings) -> None:
    """What the SDK's own model refuses: one such row would break the load of the whole set there."""
    _check_keys(config, RUNTIME_KEYS, path, found)
    image = config.get("image")
    if image is not None and not (isinstance(image, str) and image):
        found.add(_under(path, "image"), "must be text of at least one character", image)
    if image is not None and config.get("compose") is not None:
        found.add(path, "must name either an image or a compose project, not both")
    for key, known in (("resources", RESOURCE_KEYS), ("limits", LIMIT_KEYS), ("compose", None)):
        part = config.get(key)
        if not isinstance(part, dict | None):
            found.add(_under(path, key), "must be an object", part)
        elif part and known:
            _check_keys(part, known, _under(path, key), found)
            _check_positive(part, _under(path, key), found)


def _check_keys(value: Mapping[str, Any], known: set[str], path: str, found: _Findings) -> None:
    for key in value.keys() - known:
        found.add(_under(path, key), f"is not known here; there are {', '.join(sorted(known))}")


def _check_positive(value: Mapping[str, Any], path: str, found: _Findings) -> None:
    for key in ("cpu", "memory_mb", "storage_mb", "startup_timeout_s", "run_timeout_s"):
        number = value.get(key)
        if number is not None and not _is_positive(number):
            found.add(_under(path, key), "must be a number above 0", number)


def _is_positive(number: Any) -> bool:
    if isinstance(number, Raw):
        return float(bytes(number)) > 0
    return isinstance(number, int) and not isinstance(number, bool) and number > 0


def _check_verifier(row: Mapping[str, Any], path: str, found: _Findings) -> None:
    for key in ("env", "id"):
        _named(row.get(key), _under(path, key), found)
    if "slug" in row:
        _named(row["slug"], _under(path, "slug"), found)
    if not isinstance(row.get("args", {}), dict):
        found.add(_under(path, "args"), "must be an object", row["args"])
    if row.get("verifier") is not None:
        found.add(_under(path, "verifier"), "a verifier has no verifier of its own")
    _check_shapes({key: value for key, value in row.items() if key not in ("args", "verifier")}, path, found)


def _env_of(row: Mapping[str, Any], path: str, found: _Findings) -> str:
    env = row.get("env")
    if isinstance(env, dict):
        _check_keys(env, {"name"}, _under(path, "env"), found)
        return _named(env.get("name"), _under(path, "env.name"), found)
    return _named(env, _under(path, "env"), found)


def _slug_of(row: Any, path: str, found: _Findings) -> str:
    if not isinstance(row, dict):
        found.add(path, "must be an object", row)
        return ""
    slug = _only_one(row, SLUG_KEYS, path, found)
    if slug is None and isinstance(row.get("id"), str):
        return default_slug(row["id"], row.get("args"))
    return _named(slug, _under(path, "slug" if row.get("slug") is not None else "name"), found)


def default_slug(task_id: str, args: Any) -> str:
    """What the SDK calls a row without a slug: the template's id, and eight digits of its args' hash when there are any."""
    if not args:
        return task_id
    text = json.dumps(json.loads(_encode(args)), sort_keys=True)
    return f"{task_id}-{hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:8]}"


def _only_one(row: Mapping[str, Any], keys: Sequence[str], path: str, found: _Findings) -> Any:
    given = [key for key in keys if row.get(key) is not None]
    if len(given) > 1:
        found.add(_under(path, given[1]), f"says the same as {given[0]}; give one of them", row[given[1]])
    return row[given[0]] if given else None


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _named(value: Any, path: str, found: _Findings) -> str:
    if not isinstance(value, str):
        found.add(path, "must be text" if value is not None else "is missing", value)
    elif not 1 <= len(value) <= TEXT_LIMIT:
        found.add(path, f"must have 1 to {TEXT_LIMIT} characters", value)
    elif value != value.strip() or _CONTROL.search(value):
        found.add(path, "must have no control characters, and no white space at its ends", value)
    else:
        return value
    return ""

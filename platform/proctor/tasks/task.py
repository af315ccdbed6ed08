"""`Task`: one row, held as the exact JSON text that is stored, uploaded and exported.

Fields decode that text when asked, so a task can't be changed by accident: `replace` gives a changed copy. Python values become
JSON strictly: what JSON has not (a datetime, NaN, a key that is no text) is refused with its place, never written as something else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from proctor import content
from proctor.content import BadContent, TaskText
from proctor.errors import BadTask

if TYPE_CHECKING:
    from proctor.jobs import Job

FIELDS = ("env", "id", "args", "validation", "agent_config", "columns", "runtime_config", "verifier")


class Task:
    """`env` is the environment's name, `id` the template's, `args` what the template is given, `slug` the name in the taskset (made
    from id and args unless given). Equal tasks have equal slugs and content."""

    __slots__ = ("_raw", "_row")

    def __init__(
        self, env: str, id: str, args: Mapping[str, Any] | None = None, *, slug: str | None = None, columns: Mapping[str, Any] | None = None,
        agent_config: Mapping[str, Any] | None = None, runtime_config: Mapping[str, Any] | None = None,
        validation: Sequence[Mapping[str, Any]] | None = None, verifier: Task | Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        given: dict[str, Any] = {
            "slug": slug, "env": env, "id": id, "args": args, "validation": validation, "agent_config": agent_config, "columns": columns,
            "runtime_config": runtime_config, "verifier": verifier,
        }  # fmt: skip
        self._take(_row_of(given))

    def _take(self, row: bytes) -> None:
        try:
            self._row: TaskText = content.parse_row(row)
        except BadContent as error:
            raise BadTask("\n".join(f"{found.path}: {found.rule}" for found in error.problems)) from None
        self._raw: Mapping[str, Raw] | None = None

    @classmethod
    def from_json(cls, row: str | bytes) -> Task:
        """A row as JSON text, in the spelling of the SDK, of the export or of the upload. Raises BadTask."""
        task = cls.__new__(cls)
        task._take(row.encode("utf-8", "surrogatepass") if isinstance(row, str) else row)
        return task

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Task:
        """A row as a dict, such as a call of a template gives. Raises BadTask."""
        return cls.from_json(_row_of(row))

    @classmethod
    def from_text(cls, row: TaskText) -> Task:
        """A row that was checked already."""
        task = cls.__new__(cls)
        task._row, task._raw = row, None
        return task

    @property
    def _fields(self) -> Mapping[str, Raw]:
        """Each field's own text, taken apart when somebody first asks."""
        if self._raw is None:
            self._raw = msgspec.json.decode(self._row.text, type=dict[str, Raw])
        return self._raw

    @property
    def env(self) -> str:
        """The environment's name."""
        return self._row.env

    @property
    def id(self) -> str:
        """The template's id."""
        return self._row.task_id

    @property
    def slug(self) -> str:
        """The name in the taskset."""
        return self._row.slug

    @property
    def args(self) -> dict[str, Any]:
        """What the template is given, decoded anew; {} when there is nothing."""
        return self._value("args") or {}

    @property
    def columns(self) -> dict[str, Any] | None:
        """What describes the task, for people and filters."""
        return self._value("columns")  # type: ignore[no-any-return]

    @property
    def agent_config(self) -> dict[str, Any] | None:
        """What this task asks of its agent; `timeout_seconds` counts here too."""
        return self._value("agent_config")  # type: ignore[no-any-return]

    @property
    def runtime_config(self) -> dict[str, Any] | None:
        """`image`, `resources`, `limits`."""
        return self._value("runtime_config")  # type: ignore[no-any-return]

    @property
    def validation(self) -> list[dict[str, Any]] | None:
        """Kept, and given back."""
        return self._value("validation")  # type: ignore[no-any-return]

    @property
    def verifier(self) -> Task | None:
        """The task whose grade counts, if that is another one."""
        raw = self._fields.get("verifier")
        return None if raw is None else Task.from_json(bytes(raw))

    @property
    def text(self) -> str:
        """The content as stored: the fields without the slug, absent ones left out."""
        return self._row.text

    @property
    def content_id(self) -> str:
        """SHA-256 of the content's canonical text; what a result is tied to."""
        return self._row.content_id

    def field_text(self, name: str) -> str | None:
        """A field's exact JSON text; None when it is absent."""
        raw = self._fields.get(name)
        return None if raw is None else bytes(raw).decode()

    def to_json(self) -> bytes:
        """The whole row on one line, slug first, as `from_json` reads it."""
        return b'{"slug":' + msgspec.json.encode(self.slug) + b"," + self._row.text[1:].encode()

    def replace(self, **changes: Any) -> Task:
        """A copy with other fields; None takes a field out. What is not changed keeps its text. Raises BadTask."""
        unknown = changes.keys() - {"slug", *FIELDS}
        if unknown:
            raise TypeError(f"a task has no {', '.join(sorted(unknown))}; it has slug, {', '.join(FIELDS)}")
        return Task.from_row({"slug": self.slug, **self._fields, **changes})

    async def run(self, agent: Any, **options: Any) -> Job:
        """This task alone; options as for `Taskset.run`."""
        from proctor.tasks.taskset import Taskset

        return await Taskset(self.slug, [self]).run(agent, **options)

    def _value(self, name: str) -> Any:
        raw = self._fields.get(name)
        return None if raw is None else msgspec.json.decode(raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and (self.slug, self.content_id) == (other.slug, other.content_id)

    def __hash__(self) -> int:
        return hash((self.slug, self.content_id))

    def __repr__(self) -> str:
        return f"Task({self.env!r}, {self.id!r}, slug={self.slug!r})"


def _row_of(given: Mapping[str, Any]) -> bytes:
    """The row as JSON, nulls left out."""
    problems: list[str] = []
    plain = {name: _plain(value, str(name), problems) for name, value in given.items() if value is not None}
    if problems:
        raise BadTask("\n".join(problems))
    return msgspec.json.encode(plain)


def _plain(value: Any, path: str, problems: list[str]) -> Any:
    """The value with nothing in it that JSON has not."""
    if value is None or isinstance(value, bool | str | Raw):
        return value
    if isinstance(value, int):
        return Raw(str(int(value)).encode())
    if isinstance(value, float):
        if not math.isfinite(value):
            problems.append(f"{path}: NaN and infinities are not JSON")
        return value
    if isinstance(value, Task):
        return Raw(value.to_json())
    if isinstance(value, Mapping):
        problems += [f"{path}: the key {key!r} is no text" for key in value if not isinstance(key, str)]
        return {str(key): _plain(part, f"{path}.{key}", problems) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, f"{path}[{index}]", problems) for index, part in enumerate(value)]
    problems.append(f"{path}: a {type(value).__name__} is no JSON; give text, a number, a list or a dict")
    return value

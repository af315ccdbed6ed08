"""What the SDK raises. Every message says what happened, to which object, and what to try; none holds a key.

`ProctorError` is the root. Mistakes in arguments are `ValueError`s as well, unknown names are `LookupError`s as well, so that
code written for the standard exceptions works. Imports the standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class ProctorError(Exception):
    """Anything that the SDK says itself."""


class NotConfigured(ProctorError):
    """No server or no key is known."""


class BadTask(ProctorError, ValueError):
    """A task that can't be: what is wrong and where stands in the message, one problem a line."""


class DuplicateSlugs(ProctorError, ValueError):
    """Slugs that stand more than once; `places` maps each to its positions, from 0."""

    def __init__(self, places: Mapping[str, Sequence[int]]) -> None:
        self.places = dict(places)
        shown = "; ".join(f"{slug!r} (rows {', '.join(str(at) for at in positions)})" for slug, positions in self.places.items())
        super().__init__(f"These slugs stand more than once: {shown}. Give each task a slug of its own.")


class UnknownSlugs(ProctorError, LookupError):
    """Slugs that the taskset has not; `close` maps each to the most similar ones it has."""

    def __init__(self, taskset: str, close: Mapping[str, Sequence[str]]) -> None:
        self.close = dict(close)
        shown = "; ".join(slug_hint(slug, found) for slug, found in self.close.items())
        super().__init__(f"Taskset {taskset!r} has no such task: {shown}. Pass missing_ok=True to pass over them.")


def slug_hint(slug: str, close: Sequence[str]) -> str:
    """One unknown slug, with what it may have meant."""
    return f"{slug!r} (did you mean {', '.join(map(repr, close))}?)" if close else repr(slug)


class BadFile(ProctorError, ValueError):
    """A file that holds no taskset; the message names the file and the line."""


class NoPlacement(ProctorError, ValueError):
    """Tasks whose environment has no place to run; `environments` names all of them."""

    def __init__(self, environments: Sequence[str], hint: str) -> None:
        self.environments = list(environments)
        super().__init__(f"No place to run: {', '.join(self.environments)}. {hint}")


class EmptyTaskset(ProctorError, ValueError):
    """A run of no tasks, which would be a job without a result."""


class StateMismatch(ProctorError, ValueError):
    """A state file of another batch than the one that is to go on."""


@dataclass(frozen=True)
class ServerProblem:
    """One thing the server found wrong: where in the request, what must hold, what was given."""

    path: str
    rule: str
    value: str | None = None

    def __str__(self) -> str:
        return f"{self.path}: {self.rule}" if self.path else self.rule


class RequestFailed(ProctorError):
    """The server, or the way to it, did not do what was asked. `status` is 0 when no answer came."""

    advice = ""

    def __init__(
        self, message: str, *, status: int = 0, code: str = "", request_id: str | None = None, problems: Sequence[ServerProblem] = ()
    ) -> None:
        super().__init__(f"{message} {self.advice}".strip())
        self.status, self.code, self.request_id, self.problems = status, code, request_id, list(problems)


class Unreachable(RequestFailed):
    """No answer: nobody listens, the name is unknown, or the connection broke."""

    advice = "Is the server up, and PROCTOR_URL right?"


class TimedOut(RequestFailed):
    """No whole answer in time. What was asked may have been done."""


class Unauthorised(RequestFailed):
    """401."""

    advice = "The key is unknown or revoked: `proctor login`, or set PROCTOR_API_KEY."


class Forbidden(RequestFailed):
    """403."""

    advice = "The key lacks the scope for this: ask for another key."


class NotFound(RequestFailed, LookupError):
    """404, or 410: not there, or another team's."""


class Conflict(RequestFailed):
    """409."""


class Refused(RequestFailed, ValueError):
    """400, 413, 415, 422: the request is wrong; `problems` says where."""


class RateLimited(RequestFailed):
    """429, after waiting as asked."""

    advice = "Too many requests: try again later."


class ServerFailed(RequestFailed):
    """5xx."""

    advice = "The server failed; its log has the request id."


class BadReply(RequestFailed):
    """An answer that is not of the server's API: a proxy's page, a redirect, broken JSON."""

    advice = "Does PROCTOR_URL name a Proctor server?"

"""One task between `tasks.start` and `tasks.grade`: a generator that is advanced twice, and what its yields become on the wire.

Generators that are not async run in threads of their own, so an author may block in them without stopping the other sessions.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import logging
import math
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from .arguments import fit
from .declare import Answer, Template

log = logging.getLogger(__name__)


class TaskEnded(RuntimeError):
    """A generator returned where it should have yielded."""


class TaskRunner:
    """Raises TypeError at once when the args do not fit the signature, before any of the author's code runs."""

    def __init__(self, template: Template, args: dict[str, Any]) -> None:
        self.template = template
        try:
            template.signature.bind(**args)
        except TypeError as error:
            raise TypeError(f"task {template.id!r}: bad args {sorted(args)}: {error}") from error
        self._args = args
        self._steps: AsyncGenerator[Any, Any] | _ThreadedSteps | None = None

    async def start(self) -> dict[str, Any]:
        """Run to the first yield; the `tasks.start` result."""
        parameters = self.template.signature.parameters
        args = {k: fit(parameters[k].annotation, v) if k in parameters else v for k, v in self._args.items()}
        steps = self.template.function(**args)
        self._steps = steps if inspect.isasyncgen(steps) else _ThreadedSteps(steps)
        prompt = await self._advance(None, "before its prompt: yield a prompt first")
        return to_json(prompt) if isinstance(prompt, dict) and "prompt" in prompt else {"prompt": to_json(prompt)}

    async def grade(self, answer: Any) -> dict[str, Any]:
        """Hand over the answer, run to the second yield; the `tasks.grade` result. The task is over whatever happens."""
        try:
            grade = await self._advance(self._answer(answer), "without a grade: yield a reward after the answer")
        finally:
            await self.cancel()
        return grade_frame(self.template.id, grade)

    async def cancel(self) -> None:
        """Close the generator, so that its `finally` blocks run. An error in them is logged and changes nothing else."""
        steps, self._steps = self._steps, None
        if steps is None:
            return
        try:
            await steps.aclose()
        except Exception:
            log.exception("task %r failed while closing", self.template.id)

    async def _advance(self, value: Any, missing: str) -> Any:
        if self._steps is None:
            raise TaskEnded(f"task {self.template.id!r} is not running")
        try:
            return await self._steps.asend(value)
        except StopAsyncIteration:
            raise TaskEnded(f"task {self.template.id!r} ended {missing}") from None

    def _answer(self, answer: Any) -> Any:
        if self.template.returns is None:
            return answer
        try:
            content = fit(self.template.returns, answer)
        except ValueError:
            content = answer
        return Answer(content, answer if isinstance(answer, str) else str(answer))


def grade_frame(task_id: str, grade: Any) -> dict[str, Any]:
    """A number, a dict with `score`, or an object with `reward` (HUD's EvaluationResult) as a grade frame with a finite score."""
    frame = to_json(grade)
    if isinstance(frame, dict):
        if "reward" in frame and "score" not in frame and not isinstance(grade, dict):
            frame["score"] = frame.pop("reward")
        if not _is_number(frame.get("score")):
            raise TypeError(f"task {task_id!r} graded with a dict missing a numeric 'score' (keys: {sorted(map(str, frame))})")
    else:
        frame = {"score": getattr(grade, "reward", frame)}
    frame["score"] = _finite(task_id, frame["score"])
    return frame


def _finite(task_id: str, score: Any) -> float:
    if not _is_number(score):
        raise TypeError(f"task {task_id!r} graded with {type(score).__name__}: yield a number, or a dict with a numeric 'score'")
    try:
        number = float(score)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"task {task_id!r} graded with a non-finite score ({number!r}): yield a finite number")
    return number


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def to_json(value: Any) -> Any:
    """Models and dataclasses as dicts, tuples as lists; anything else as it is."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_json(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


class _ThreadedSteps:
    """A plain generator with the two calls of an async one. A call that is abandoned runs on in its thread, which then closes
    the generator itself: Python has no way to stop it. Threads are daemons, so none of them holds up the end of the process."""

    def __init__(self, generator: Generator[Any, Any, Any]) -> None:
        self._generator = generator
        self._busy = threading.Lock()
        self._closing = False

    async def asend(self, value: Any) -> Any:
        return await _in_thread(lambda: self._send(value))

    def _send(self, value: Any) -> Any:
        with self._busy:
            try:
                return self._generator.send(value)
            except StopIteration:
                raise StopAsyncIteration from None
            finally:
                if self._closing:
                    self._generator.close()

    async def aclose(self) -> None:
        self._closing = True
        if self._busy.acquire(blocking=False):
            try:
                await _in_thread(self._generator.close)
            finally:
                self._busy.release()


def _in_thread(function: Callable[[], Any]) -> asyncio.Future[Any]:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def work() -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as raised:  # whatever the author's code raises belongs to the caller
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, daemon=True, name="proctor-template").start()
    return future

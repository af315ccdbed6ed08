"""Keeps web and worker alive: each in its own session, restarted with back-off, ended within 10 s of TERM, dead with us.

Knows nothing of Django: commands in, exit codes out.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

STOP_S, STEADY_S, FIRST_WAIT_S, LONGEST_WAIT_S = 9.0, 30.0, 0.2, 15.0


@dataclass
class Child:
    """`command` is started again whenever it ends; the wait doubles while it does not stay up for 30 s."""

    name: str
    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    start_at: float = 0.0
    wait_s: float = field(default=FIRST_WAIT_S)

    def start(self) -> None:
        environment = {**os.environ, "PROCTOR_SUPERVISED": "1"}
        self.process = subprocess.Popen(self.command, start_new_session=True, env=environment, stdout=sys.stderr)
        self.started = time.monotonic()

    def look(self, say: Callable[[str], None]) -> None:
        now = time.monotonic()
        if self.process is None:
            if now >= self.start_at:
                self.start()
            return
        code = self.process.poll()
        if code is None:
            return
        self._bury()
        self.wait_s = FIRST_WAIT_S if now - self.started > STEADY_S else min(LONGEST_WAIT_S, self.wait_s * 2)
        self.start_at = now + self.wait_s
        say(f"{self.name} ended with {code}; starting it again in {self.wait_s:g} s")

    def _bury(self) -> None:
        """What is left of its session ends too."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process = None

    def terminate(self) -> None:
        """TERM to the child alone: Dramatiq's master counts a group signal twice."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def end(self, until: float) -> None:
        if self.process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(max(0.0, until - time.monotonic()))
            self._bury()


class Supervisor:
    def __init__(self, children: Sequence[Child], say: Callable[[str], None]) -> None:
        self.children, self.say = children, say
        self.end = threading.Event()

    def run(self) -> None:
        """Until SIGTERM or SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.end.set())
        try:
            while not self.end.is_set():
                for child in self.children:
                    child.look(self.say)
                self.end.wait(0.1)
        finally:
            self.stop()

    def stop(self) -> None:
        until = time.monotonic() + STOP_S
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.end(until)

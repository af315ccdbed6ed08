"""On Linux a child can ask to be told when its parent dies, so that nothing outlives a killed supervisor."""

from __future__ import annotations

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Only for a child of the supervisor (`PROCTOR_SUPERVISED`); elsewhere the process is its own master."""
    if os.environ.get("PROCTOR_SUPERVISED") != "1":
        return
    ask_for_death()


def ask_for_death() -> None:
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        return

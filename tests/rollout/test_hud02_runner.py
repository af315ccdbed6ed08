"""The script that runs a controller's function, as a real process; in a real container it runs in tests/docker and tests/peers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from proctor.hud02 import runner
from proctor.hud02.calls import Call
from tests.support.server import until

CONTROLLER = '''
import atexit, asyncio, os, subprocess, sys
def add(a, b): print("adding"); return a + b
async def later(a): await asyncio.sleep(0); return a
def loud(): atexit.register(print, "late"); os.system("echo from a child"); sys.stderr.write("warned"); return {"ok": [1, None, "ü"]}
def nan(): return float("nan")
def thing(): return object()
def leave(): sys.exit(3)
def broken(): raise KeyError("gone")
def size(text): return len(text)
def slow(): import time; print(subprocess.Popen(["sleep", "60"]).pid, file=open("pid", "w"), flush=True); time.sleep(60)
'''


@pytest.fixture
def controller(tmp_path: Path) -> Path:
    (tmp_path / "hud_controller" / "tools").mkdir(parents=True)
    (tmp_path / "hud_controller" / "__init__.py").write_text(CONTROLLER)
    (tmp_path / "hud_controller" / "tools" / "__init__.py").write_text("def name(): return __name__")
    return tmp_path


def invoke(folder: Path, call: Call, timeout_s: float = 20) -> tuple[Any, bytes, int]:
    asked = runner.request(call)
    command = ["timeout", "-k", "2", str(timeout_s), sys.executable, *runner.COMMAND[1:]]
    done = subprocess.run(command, input=asked.line, capture_output=True, cwd=folder, check=False)
    return *runner.read_reply(call.function, asked.nonce, done.stdout), done.returncode


def test_c2_invoke_template_keeps_what_is_printed_apart(controller: Path) -> None:
    assert invoke(controller, Call("add", (2, 3))) == (5, b"adding\n", 0)
    assert invoke(controller, Call("tools.name")) == ("hud_controller.tools", b"", 0)
    assert invoke(controller, Call("later", ("x",)))[0] == "x"


def test_c2_invoke_template_is_not_spoilt_by_late_output(controller: Path) -> None:
    result, printed, code = invoke(controller, Call("loud"))
    assert (result, code) == ({"ok": [1, None, "ü"]}, 0)
    assert b"from a child" in printed


def test_c2_invoke_template_takes_arguments_larger_than_a_command_line(controller: Path) -> None:
    assert invoke(controller, Call("size", ("x" * 3_000_000,)))[0] == 3_000_000


@pytest.mark.parametrize(
    ("call", "type_name"),
    [(Call("broken"), "KeyError"), (Call("leave"), "SystemExit"), (Call("missing"), "AttributeError"), (Call("no.module"), "ModuleNotFoundError"),
     (Call("nan"), "ValueError"), (Call("thing"), "TypeError"), (Call("add", (1,)), "TypeError")],
)  # fmt: skip
def test_c2_invoke_template_tells_what_went_wrong(controller: Path, call: Call, type_name: str) -> None:
    with pytest.raises(runner.InvokeFailed) as failed:
        invoke(controller, call)
    assert failed.value.type_name == type_name
    assert "Traceback" in failed.value.remote_traceback


def test_c2_invoke_template_ends_at_its_deadline(controller: Path) -> None:
    with pytest.raises(runner.InvokeFailed, match="without a result"):
        invoke(controller, Call("slow"), timeout_s=1)
    child = int((controller / "pid").read_text())
    until(lambda: has_ended(child), 10)  # killed it is at once, but a process dies when it is scheduled next


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_c2_invoke_template_refuses_what_is_no_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        runner.request(Call("add", (float("nan"),)))

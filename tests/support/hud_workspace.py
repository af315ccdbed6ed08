"""An environment of the real HUD SDK with a workspace (`ssh/2`), and stand-ins for the programs `codex` and `claude` in its PATH (`PROGRAMS`
names those that are there): they say 3 in the real programs' JSON lines (hud 0.6.21 reads them in `agents/codex/agent.py` and
`agents/claude/sdk/events.py`) if they were given the key and address of the test. No test runs the real programs: they call their makers.
"""

from __future__ import annotations

import os
from pathlib import Path

from hud import Environment

HOME = Path(os.environ["HOME"])
PROGRAMS = {
    "codex": """#!/bin/sh
cat >/dev/null
case "$HUD_API_KEY $*" in "key-0001 "*http://127.0.0.1*) text=3 ;; *) text="given $HUD_API_KEY $*" ;; esac
echo '{"type":"thread.started","thread_id":"t"}'
echo '{"type":"turn.started"}'
printf '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"%s"}}\\n' "$text"
echo '{"type":"turn.completed","usage":{}}'
""",
    "claude": """#!/bin/sh
cat >/dev/null
echo worked >notes.txt
case "$ANTHROPIC_API_KEY $ANTHROPIC_BASE_URL" in "key-0001 http://127.0.0.1"*) text=3 ;; *) text=wrong ;; esac
usage='{"input_tokens":11,"output_tokens":7}'
echo '{"type":"system","subtype":"init"}'
printf '{"type":"assistant","message":{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"%s"}],"stop_reason":"end_turn","stop_sequence":null,"usage":%s}}\\n' "$text" "$usage"
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s"}\\n' "$text"
""",
}

env = Environment("letters")
env.workspace(HOME / "workspace", name="ssh")


@env.initialize
async def install() -> None:
    folder = HOME / "bin"
    folder.mkdir(exist_ok=True)
    (HOME / ".profile").write_text(f'export PATH="{folder}:$PATH"\n')  # the workspace's shells are login shells
    for name in os.environ.get("PROGRAMS", "").split():
        (folder / name).write_text(PROGRAMS[name])
        (folder / name).chmod(0o755)


@env.template()
async def count(word: str = "strawberry", letter: str = "r"):
    answer = yield f"How many {letter}'s are in {word}?"
    yield 1.0 if answer == str(word.count(letter)) else 0.0

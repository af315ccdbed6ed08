"""The system-call profile of environments with a shell of their own (contracts of HUD, 4.5): all calls but the dangerous ones, so that a
nested bubblewrap sandbox works inside the container. All other containers have the engine's default profile."""

from __future__ import annotations

import json

DENIED = (
    "bpf", "kcmp", "keyctl", "name_to_handle_at", "open_by_handle_at", "perf_event_open", "process_vm_readv", "process_vm_writev", "userfaultfd",
)  # fmt: skip


def nested_profile() -> str:
    """As the engine's API takes it: JSON text. `ptrace` is refused unless the container has CAP_SYS_PTRACE, which ours never has."""
    refused = {"action": "SCMP_ACT_ERRNO", "errnoRet": 1}
    rules = [{"names": list(DENIED), **refused}, {"names": ["ptrace"], "excludes": {"caps": ["CAP_SYS_PTRACE"]}, **refused}]
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules})

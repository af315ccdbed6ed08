"""Runs the measures and prints one JSON line each on stdout; progress goes to stderr. `ONLY=P2,P6` chooses.

Exit status 1 when a measure could not be taken; whether goals are met stands in the lines (`ok`).
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
import traceback

MODULES = {
    "P1": "p01_upload", "P2": "p02_fetch", "P3": "p03_first_byte", "P4": "p04_unchanged", "P5": "p05_revision", "P6": "p06_spans",
    "P7": "p07_clients", "P8": "p08_kill", "P9": "p09_visible", "P10": "p10_cpu", "P14": "p14_rollouts", "P15": "p15_first_exec",
    "P16": "p16_burst", "P20": "p20_start", "P21": "p21_memory", "P22": "p22_peak", "CURVES": "curves",
    "PA": "p_analysis", "PT": "p_table", "PS": "p_scroll", "TA": "p_taskapp", "TH": "p_hud02", "TS": "p_sdk",
}  # fmt: skip


def wanted() -> list[str]:
    """Raises SystemExit for an id that is not measured."""
    only = [part.strip().upper() for part in os.environ.get("ONLY", "").split(",") if part.strip()]
    unknown = [part for part in only if part not in MODULES]
    if unknown:
        raise SystemExit(f"ONLY={','.join(unknown)}: measured are {', '.join(MODULES)}")
    return only or list(MODULES)


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    from bench.support import Bench  # needs the floors' packages

    failed = []
    with Bench() as bench:
        for id in wanted():
            started = time.monotonic()
            try:
                for line in importlib.import_module(f"bench.{MODULES[id]}").measure(bench):
                    print(line.json(), flush=True)
            except Exception:
                failed.append(id)
                traceback.print_exc()
            print(f"{id} took {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    if failed:
        print(f"not measured: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

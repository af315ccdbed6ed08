"""Every write about jobs and runs: caller first, one transaction, publish after commit; nothing else writes.

`jobs` starts, submits, changes and cancels; `reports` is what outside runs tell; `spans` holds the one door of telemetry; `execution`
is the worker's side (claim, phase, finish, release), where every write is fenced by (run, attempt); `sweep` frees what was lost.
"""

"""Every read about jobs and runs, scoped to the caller's team: `jobs`, `runs`, `steps`, `live` (the tail), `platform` (workers)."""

from runs.queries.platform import newest_heartbeat_age_s

__all__ = ["newest_heartbeat_age_s"]

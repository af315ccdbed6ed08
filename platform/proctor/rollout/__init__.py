"""One task in, one outcome out; async, no database. The worker and a local run call the same `run_rollout`."""

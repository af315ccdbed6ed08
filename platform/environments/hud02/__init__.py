"""HUD 0.2.x over HTTP, the part about environments: gyms, sandboxes driven from outside by calls, builds, matchers. Served under `/hud02`.

A legacy environment is a runtime session (`environments.sessions`) on a version of the kind `hud02`; jobs, task runs and telemetry are
in `runs.hud02`, tasksets in `tasksets.hud02`.
"""

"""Run a taskset: every task times its repeats, somewhere, by an agent, with one receipt (`Job`) at the end.

`placement` says where each environment runs, `runtimes` what places there are, `running` drives the engine that the server's workers use
too, `hosted` leaves it to the server, `reporting` tells the server what happens here, `state` makes an interrupted batch go on.
"""

from proctor.jobs.job import Job, Run
from proctor.jobs.placement import Placed, Plan
from proctor.jobs.running import run_taskset
from proctor.jobs.runtimes import DockerRuntime, HostedRuntime, LocalRuntime, Runtime, TunnelRuntime

__all__ = ["DockerRuntime", "HostedRuntime", "Job", "LocalRuntime", "Placed", "Plan", "Run", "Runtime", "TunnelRuntime", "run_taskset"]

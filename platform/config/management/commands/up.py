"""`manage.py up`: everything on this machine. Migrates, makes the first admin, team and key, supervises web and worker, and prints the
sample job's result when it is there. Progress goes to stderr, results to stdout."""

import fcntl
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection


class Command(BaseCommand):
    help = "Starts Proctor: web and worker under one supervisor. Settings: docs/reference/settings.md."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        from config import boot
        from config.supervisor import Child, Supervisor

        lock = take_lock()
        require_free_port()
        boot.migrate()
        made = boot.first_boot()
        boot.model_endpoints()
        connection.close()
        python, manage = sys.executable, str(settings.ROOT / "manage.py")
        supervisor = Supervisor([Child("web", [python, manage, "web"]), Child("worker", [python, manage, "worker"])], self.progress)
        self.stdout.write("\n".join(boot.greeting(made)))
        self.stdout.flush()
        threading.Thread(target=self.announce_sample, args=(supervisor.end,), daemon=True).start()
        supervisor.run()
        lock.close()

    def progress(self, line: str) -> None:
        self.stderr.write(line)
        self.stderr.flush()

    def announce_sample(self, end: threading.Event) -> None:
        """The sample job's result, once; nothing when it ended at an earlier start or is switched off."""
        from runs.queries.jobs import figures
        from runs.samples import sample_job

        if os.environ.get("PROCTOR_SAMPLE", "1") == "0":
            return
        told = Path(settings.DATA) / "sample-told"
        while not end.is_set() and not told.exists():
            job = sample_job()
            if job is not None and (found := figures(job)).tally.expected and not found.tally.pending:
                self.stdout.write(sample_line(job, found))
                self.stdout.flush()
                told.touch()
            connection.close()
            time.sleep(0.5)


def sample_line(job: Any, found: Any) -> str:
    tally = found.tally
    mean = "none" if found.mean_reward is None else f"{found.mean_reward:.4f}"
    where = "in containers" if found.sandbox == "docker" else "as plain processes, unsandboxed"
    return (
        f"Sample job: {tally.graded} of {tally.expected} graded, {tally.failed} failed, mean reward {mean}, {where}: "
        f"{settings.PROCTOR_PUBLIC_URL}/jobs/{job.wire_id}"
    )


def take_lock() -> IO[str]:
    """One instance per data folder: the lock proves to the worker that its predecessor is gone."""
    lock = open(Path(settings.DATA) / "lock", "w")  # noqa: SIM115
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CommandError(f"Another Proctor is running on the data folder {settings.DATA}; stop it, or set PROCTOR_DATA") from None
    return lock


def require_free_port() -> None:
    family = socket.AF_INET6 if ":" in settings.PROCTOR_HOST else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.PROCTOR_HOST, settings.PROCTOR_PORT))
        except OSError as error:
            raise CommandError(f"Port {settings.PROCTOR_PORT} on {settings.PROCTOR_HOST} can't be used ({error.strerror}); set PROCTOR_PORT") from None

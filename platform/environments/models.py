"""Environments, their numbered versions with build logs, their variables, and sessions that people drive from outside.

A version's way is `pending` → `building` (a context) → `probing` (the image is started and asked what it holds) → `ready`,
`failed` or `cancelled`; HUD calls it a build. `claimed_by` and `claimed_until` are the lease of the worker that does it. Secrets
(`*_encrypted`) are Fernet texts of `web.crypto`.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from accounts.models import Project, Team


class Environment(models.Model):
    """`name` is the handle. `is_sample`: shipped with the product, which alone may run without a container. `runtime_config`: what
    tasks get that ask for nothing themselves (HUD's object, sparse)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="environments")
    project = models.ForeignKey(Project, models.SET_NULL, null=True, related_name="environments")
    name = models.CharField(max_length=100)
    title = models.CharField(max_length=255)
    kind = models.CharField(max_length=10, default="hud")
    is_sample = models.BooleanField(default=False)
    runtime_config = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="environment_name_unique_in_team")]


class EnvironmentVersion(models.Model):
    """`image` is what sandboxes are started from, `image_id` the engine's digest of it. `manifest` holds `templates` and
    `capabilities` as the environment gave them; `command` starts a sample without a container. `build_secrets_encrypted` is empty
    again once the version has ended; `log_seq` counts its `LogChunk`s."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    environment = models.ForeignKey(Environment, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=10, default="pending")
    source = models.CharField(max_length=10)
    image = models.CharField(max_length=512, default="")
    image_id = models.CharField(max_length=100, null=True)
    manifest = models.JSONField(default=dict)
    context_path = models.CharField(max_length=255, null=True)
    build_args = models.JSONField(default=dict)
    build_secrets_encrypted = models.TextField(default="")
    no_cache = models.BooleanField(default=False)
    command = models.JSONField(default=list)
    error = models.TextField(null=True)
    log_seq = models.PositiveIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    claimed_by = models.CharField(max_length=80, null=True)
    claimed_until = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ready_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["environment", "number"], name="environment_version_number_unique")]
        indexes = [models.Index(fields=["status", "created_at"], name="environment_version_waiting")]


class LogChunk(models.Model):
    """Lines of a version's log, appended about twice a second while somebody works on it. `seq` counts from 1 without gaps."""

    version = models.ForeignKey(EnvironmentVersion, models.CASCADE, related_name="log_chunks")
    seq = models.PositiveIntegerField()
    text = models.TextField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "seq"], name="environment_log_seq_unique")]


class EnvironmentVariable(models.Model):
    """A value that every sandbox of the environment gets; it is never shown again."""

    environment = models.ForeignKey(Environment, models.CASCADE, related_name="variables")
    name = models.CharField(max_length=255)
    value_encrypted = models.TextField()
    updated_by = models.CharField(max_length=255, null=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["environment", "name"], name="environment_variable_unique")]


class ContextUpload(models.Model):
    """A build context on its way, before it has an environment. Its id becomes the version's. `problems`: why it may not be built."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE)
    path = models.CharField(max_length=255, null=True)
    problems = models.JSONField(default=list)
    created_by = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(auto_now_add=True)


class RuntimeSession(models.Model):
    """A sandbox that somebody drives from outside through tunnels: `waiting` → `starting` → `open` → `closed` or `failed`. `relay` is
    where the worker that holds it takes tunnels (`host:port`); `expires_at` bounds the whole, `last_used_at` is when a tunnel last
    carried a byte."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE)
    version = models.ForeignKey(EnvironmentVersion, models.CASCADE, related_name="sessions")
    run_wire_id = models.UUIDField(null=True)
    job_wire_id = models.UUIDField(null=True)
    state = models.CharField(max_length=10, default="waiting")
    error = models.TextField(null=True)
    claimed_by = models.CharField(max_length=80, null=True)
    claimed_until = models.DateTimeField(null=True)
    relay = models.CharField(max_length=255, null=True)
    container_id = models.CharField(max_length=80, null=True)
    close_requested_at = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["team", "created_at"], condition=Q(ended_at=None), name="session_live_of_team"),
            models.Index(fields=["state", "created_at"], condition=Q(ended_at=None), name="session_live"),
        ]


class TaskApp(models.Model):
    """Where a version of the kind `task_app` serves. `checks`: how each endpoint answered last. `by_instance_admin`: registered by one, so it
    may lead to loopback and private addresses."""

    version = models.OneToOneField(EnvironmentVersion, models.CASCADE, primary_key=True, related_name="task_app")
    url = models.CharField(max_length=1000)
    key_encrypted = models.TextField(default="")
    by_instance_admin = models.BooleanField(default=False)
    checks = models.JSONField(default=list)
    checked_at = models.DateTimeField(null=True)
    next_check_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["next_check_at"], name="task_app_due")]

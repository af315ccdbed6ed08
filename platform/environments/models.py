"""Environments and their numbered versions: columns and constraints.

A version's way is `pending` → `building` (a context) → `probing` (the image is started and asked what it holds) → `ready` or
`failed`. `claimed_by` and `claimed_until` are the lease of the worker that does it.
"""

from __future__ import annotations

import uuid

from django.db import models

from accounts.models import Project, Team


class Environment(models.Model):
    """`name` is the handle. `is_sample`: shipped with the product, which alone may run without a container."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="environments")
    project = models.ForeignKey(Project, models.SET_NULL, null=True, related_name="environments")
    name = models.CharField(max_length=100)
    title = models.CharField(max_length=255)
    kind = models.CharField(max_length=10, default="hud")
    is_sample = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="environment_name_unique_in_team")]


class EnvironmentVersion(models.Model):
    """`image` is what sandboxes are started from, `image_id` the engine's digest of it. `manifest` holds `templates` and
    `capabilities` as the environment gave them; `command` starts a sample without a container."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    environment = models.ForeignKey(Environment, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=10, default="pending")
    source = models.CharField(max_length=10)
    image = models.CharField(max_length=512, default="")
    image_id = models.CharField(max_length=100, null=True)
    manifest = models.JSONField(default=dict)
    context_path = models.CharField(max_length=255, null=True)
    command = models.JSONField(default=list)
    error = models.TextField(null=True)
    log = models.TextField(default="")
    attempts = models.PositiveIntegerField(default=0)
    claimed_by = models.CharField(max_length=80, null=True)
    claimed_until = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ready_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["environment", "number"], name="environment_version_number_unique")]
        indexes = [models.Index(fields=["status", "created_at"], name="environment_version_waiting")]

"""What a worker found out about one version: its analysis and the findings. Columns and constraints only.

An analysis' way is `queued` → `running` → `done` or `failed`. `claimed_by`, `claimed_until` and `attempts` are the lease of who works on
it; findings carry the attempt that made them, so a late worker's count for nothing.
"""

from __future__ import annotations

from django.db import models


class Analysis(models.Model):
    """`settings` is what it was made with. `environments` lists what each environment's tasks were checked against. `asked_by`: a
    person, None when it was made by itself; such a one goes when the set has a newer version's."""

    version = models.OneToOneField("tasksets.Version", models.CASCADE, related_name="analysis")
    status = models.CharField(max_length=10, default="queued")
    settings = models.JSONField(default=dict)
    environments = models.JSONField(default=list)
    counts = models.JSONField(default=dict)
    progress = models.FloatField(default=0)
    error = models.TextField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    claimed_by = models.CharField(max_length=80, null=True)
    claimed_until = models.DateTimeField(null=True)
    asked_by = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    began_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "tasksets"
        indexes = [models.Index(fields=["created_at"], condition=models.Q(status__in=["queued", "running"]), name="analysis_waiting")]


class Finding(models.Model):
    """`kind` is `check`, `exact`, `near` or `leak`; `number` its place in the list of its kind, from 0; `body` the wire object as JSON."""

    of = models.ForeignKey(Analysis, models.CASCADE, related_name="findings", db_index=False)
    attempt = models.PositiveIntegerField()
    kind = models.CharField(max_length=5)
    number = models.PositiveIntegerField()
    body = models.TextField()

    class Meta:
        app_label = "tasksets"
        constraints = [models.UniqueConstraint(fields=["of", "attempt", "kind", "number"], name="finding_in_order")]

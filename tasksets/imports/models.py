"""Files on their way in: an upload in parts, and an import of it with its edits and problems. Columns and constraints only.

An import's way is `ready` → `checking` → `checked` → `committing` → `done`, or `failed` or `cancelled`. `claimed_by`, `claimed_until` and
`attempts` are the lease of who works on it; problems carry the attempt that found them, so a late worker's count for nothing.
"""

from __future__ import annotations

import uuid

from django.db import models

from accounts.models import Team
from web.fields import OrderedJson


class Upload(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    filename = models.CharField(max_length=255)
    size_bytes = models.BigIntegerField()
    received_bytes = models.BigIntegerField(default=0)
    created_by = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        app_label = "tasksets"


class UploadPart(models.Model):
    upload = models.ForeignKey(Upload, models.CASCADE, related_name="parts", db_index=False)
    offset = models.BigIntegerField()
    size_bytes = models.BigIntegerField()
    path = models.CharField(max_length=255)

    class Meta:
        app_label = "tasksets"
        constraints = [models.UniqueConstraint(fields=["upload", "offset"], name="upload_part_unique")]


class Import(models.Model):
    """`auto`: HUD's, checked and committed by a worker without a person between. `report` is what it published. `result` is what the
    commit did, for a repeated one. `remembered`: the guess is the taskset's last mapping. `checked_attempt` is the attempt whose problems count."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    taskset = models.ForeignKey("tasksets.Taskset", models.CASCADE, null=True, related_name="imports")
    upload = models.ForeignKey(Upload, models.SET_NULL, null=True, related_name="imports")
    name = models.CharField(max_length=255, default="")
    filename = models.CharField(max_length=255)
    size_bytes = models.BigIntegerField()
    wanted = models.CharField(max_length=20, null=True)
    format = models.CharField(max_length=10)
    layout = models.CharField(max_length=20, default="columns")
    status = models.CharField(max_length=12, default="ready")
    auto = models.BooleanField(default=False)
    columns = models.JSONField(default=list)
    guess = OrderedJson(default=dict)
    remembered = models.BooleanField(default=False)
    mapping = OrderedJson(null=True)
    rows_total = models.PositiveIntegerField(null=True)
    rows_good = models.PositiveIntegerField(null=True)
    errors_total = models.PositiveIntegerField(null=True)
    plans = models.JSONField(default=dict)
    progress = models.FloatField(default=0)
    error = models.TextField(null=True)
    result = models.JSONField(null=True)
    report = models.JSONField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    checked_attempt = models.PositiveIntegerField(null=True)
    claimed_by = models.CharField(max_length=80, null=True)
    claimed_until = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=255, null=True)
    user_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "tasksets"
        indexes = [
            models.Index(fields=["team", "-created_at", "-id"], name="import_newest_first"),
            models.Index(fields=["status", "created_at"], name="import_waiting"),
        ]


class ImportProblem(models.Model):
    """`family` is the rule with `#` in place of numbers, by which errors are grouped. They stay with an import that left rows out."""

    of = models.ForeignKey(Import, models.CASCADE, related_name="problems", db_index=False)
    attempt = models.PositiveIntegerField()
    line = models.BigIntegerField()
    column = models.TextField(null=True)
    rule = models.TextField()
    family = models.TextField(default="")
    value = models.TextField(null=True)

    class Meta:
        app_label = "tasksets"
        indexes = [models.Index(fields=["of", "attempt", "line", "id"], name="import_problem_in_order")]


class ImportEdit(models.Model):
    """New texts of one row's cells, laid over the file."""

    of = models.ForeignKey(Import, models.CASCADE, related_name="edits", db_index=False)
    line = models.BigIntegerField()
    values = models.JSONField()

    class Meta:
        app_label = "tasksets"
        constraints = [models.UniqueConstraint(fields=["of", "line"], name="import_edit_unique")]


class SavedMapping(models.Model):
    """The mapping last used for a taskset, offered for the next file with the same columns."""

    taskset = models.OneToOneField("tasksets.Taskset", models.CASCADE, related_name="saved_mapping")
    mapping = OrderedJson()
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        app_label = "tasksets"

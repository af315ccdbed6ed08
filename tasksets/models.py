"""Tasksets, their versions, and the content that versions share: columns and constraints only.

A version's tasks stand in chunks (texts of many entries, shared between versions); `HeadTask` repeats the head's, one row a task,
for search and paging. Content and chunks are stored once per team.
"""

from __future__ import annotations

import uuid

from django.db import models

from accounts.models import Project, Team, User


class TaskContent(models.Model):
    """`id` is made from team and content id (`content_key`), so that it is known without asking the database. A redacted one keeps
    its id; its text is a marker."""

    id = models.UUIDField(primary_key=True, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    content_id = models.CharField(max_length=64)
    text = models.TextField()
    redacted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "content_id"], name="task_content_unique_in_team")]
        indexes = [models.Index(fields=["team"], condition=models.Q(redacted_at__isnull=False), name="task_content_redacted")]


class Chunk(models.Model):
    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    chunk_id = models.CharField(max_length=64)
    text = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "chunk_id"], name="chunk_unique_in_team")]


class TableBlock(models.Model):
    """What the table needs of a chunk's tasks, made at its first look (`tasksets.tables.blocks`): so many rows' columns, packed."""

    chunk = models.OneToOneField(Chunk, models.CASCADE, primary_key=True, related_name="table_block")
    rows = models.PositiveIntegerField()
    columns = models.BinaryField()


class TableText(models.Model):
    """What text search reads: some of a block's tasks in lower case, packed. `ends` is where each ends."""

    block = models.ForeignKey(TableBlock, models.CASCADE, related_name="texts", db_index=False)
    first_row = models.PositiveIntegerField()
    ends = models.BinaryField()
    body = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["block", "first_row"], name="one_table_text_per_place")]


class Taskset(models.Model):
    """`name` is the handle. `name_revision` counts what makes exports wrong: renames and redactions. `changed_at` moves with every
    write. Of a purged set only the numbers, digests and counts of its versions are left. `schema_policy` is off, warn or refuse; no
    `answer_fields` are the usual ones."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="tasksets")
    project = models.ForeignKey(Project, models.PROTECT, related_name="tasksets")
    name = models.CharField(max_length=100)
    title = models.CharField(max_length=255)
    head = models.ForeignKey("Version", models.SET_NULL, null=True, related_name="+")
    name_revision = models.PositiveIntegerField(default=1)
    created_by = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True)
    purged_at = models.DateTimeField(null=True)
    schema_policy = models.CharField(max_length=6, default="warn")
    answer_fields = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="taskset_name_unique_in_team")]
        indexes = [models.Index(fields=["team", "-changed_at", "-id"], name="taskset_newest_first")]


class TasksetAlias(models.Model):
    """A handle that a taskset had before a rename, until another takes it."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=100)
    taskset = models.ForeignKey(Taskset, models.CASCADE, related_name="aliases")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="taskset_alias_unique_in_team")]


class Version(models.Model):
    """Immutable. `environments` counts the tasks of each environment name; created, updated and removed are against the parent."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    taskset = models.ForeignKey(Taskset, models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=71)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, related_name="+")
    task_count = models.PositiveIntegerField()
    chunk_ids = models.JSONField(default=list)
    environments = models.JSONField(default=dict)
    created = models.PositiveIntegerField()
    updated = models.PositiveIntegerField()
    removed = models.PositiveIntegerField()
    message = models.TextField(default="")
    author = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["taskset", "number"], name="version_number_unique_in_taskset")]
        indexes = [models.Index(fields=["taskset", "digest"], name="version_by_digest")]


class Tag(models.Model):
    """A movable name of a version. Without a version it was taken off; its moves stay."""

    taskset = models.ForeignKey(Taskset, models.CASCADE, related_name="tags", db_index=False)
    name = models.CharField(max_length=64)
    version = models.ForeignKey(Version, models.CASCADE, null=True, related_name="tags")
    moved_at = models.DateTimeField()
    moved_by = models.CharField(max_length=255, null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["taskset", "name"], name="tag_unique_in_taskset")]


class TagMove(models.Model):
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="moves")
    version_number = models.PositiveIntegerField(null=True)
    moved_at = models.DateTimeField()
    moved_by = models.CharField(max_length=255, null=True)


class HeadTask(models.Model):
    taskset = models.ForeignKey(Taskset, models.CASCADE, related_name="head_tasks", db_index=False)
    position = models.IntegerField()
    slug = models.CharField(max_length=255)
    content = models.ForeignKey(TaskContent, models.PROTECT, related_name="+", db_index=False)
    env = models.CharField(max_length=255)
    task_id = models.CharField(max_length=255)
    columns = models.TextField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["taskset", "slug"], name="head_task_slug_unique_in_taskset")]
        indexes = [models.Index(fields=["taskset", "position"], name="head_task_in_order")]


class Draft(models.Model):
    """What one person is about to change. `revision` counts its writes."""

    taskset = models.ForeignKey(Taskset, models.CASCADE, related_name="drafts", db_index=False)
    owner = models.ForeignKey(User, models.CASCADE, related_name="+")
    base = models.ForeignKey(Version, models.SET_NULL, null=True, related_name="+")
    revision = models.PositiveIntegerField(default=0)
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["taskset", "owner"], name="one_draft_per_person_and_taskset")]


class DraftChange(models.Model):
    """`text` is the content to be; None for a removal and for what only moves."""

    draft = models.ForeignKey(Draft, models.CASCADE, related_name="changes", db_index=False)
    slug = models.CharField(max_length=255)
    op = models.CharField(max_length=8)
    text = models.TextField(null=True)
    content_id = models.CharField(max_length=64, null=True)
    position = models.IntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["draft", "slug"], name="one_draft_change_per_slug")]


class Export(models.Model):
    """One compressed HUD export of one version under one name. `size_bytes` is the stored size, `plain_bytes` the JSON's."""

    version = models.ForeignKey(Version, models.CASCADE, related_name="exports", db_index=False)
    name = models.CharField(max_length=100)
    encoding = models.CharField(max_length=8)
    path = models.CharField(max_length=255)
    size_bytes = models.BigIntegerField()
    plain_bytes = models.BigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "name", "encoding"], name="one_export_per_encoding")]


class Mark(models.Model):
    """What the sweep found held by nothing, and since when it does (`tasksets.sweeping`). `kind`: `content` or `chunk`."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=7)
    key = models.CharField(max_length=64)
    since = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "kind", "key"], name="one_mark_per_thing")]


from tasksets.analysis.models import Analysis, Finding  # noqa: E402, F401
from tasksets.imports.models import Import, ImportEdit, ImportProblem, SavedMapping, Upload, UploadPart  # noqa: E402, F401

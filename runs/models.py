"""Jobs, runs, attempts, spans, blobs, workers and leases: columns, constraints, tiny properties.

`wire_id` is the id that clients use, unique per team; our own primary keys never leave the server. JSON that belongs to people
(args, agent config, grade frames) is kept as text.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from accounts.models import Project, Team
from environments.models import EnvironmentVersion
from tasksets.models import TaskContent, Taskset, Version

TERMINAL = ("completed", "error", "cancelled")
ACTIVE = ("provisioning", "running", "grading")


class Job(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE)
    wire_id = models.UUIDField(default=uuid.uuid4)
    project = models.ForeignKey(Project, models.SET_NULL, null=True)
    name = models.CharField(max_length=255)
    source = models.CharField(max_length=10)
    taskset = models.ForeignKey(Taskset, models.SET_NULL, null=True, related_name="jobs")
    version = models.ForeignKey(Version, models.SET_NULL, null=True)
    agent_type = models.CharField(max_length=40, null=True)
    agent_config = models.TextField(null=True)
    secrets_encrypted = models.TextField(default="")  # of a Task App's policy, which agent_config shows masked
    model = models.CharField(max_length=255, null=True)
    group = models.IntegerField(default=1)
    task_count = models.IntegerField(default=0)
    max_concurrent = models.IntegerField(null=True)
    rollout_timeout_s = models.FloatField(null=True)
    idempotency_key = models.CharField(max_length=200, null=True)
    plan_digest = models.CharField(max_length=64, null=True)
    may_have_queued = models.BooleanField(default=False)  # a hint for the scheduler, never a truth
    created_by = models.CharField(max_length=255, null=True)
    user_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "wire_id"], name="job_wire_id_unique_in_team"),
            models.UniqueConstraint(fields=["team", "idempotency_key"], name="job_idempotency_key_unique"),
        ]
        indexes = [
            models.Index(fields=["team", "-created_at", "-id"], name="job_team_newest"),
            models.Index(fields=["created_at"], condition=Q(may_have_queued=True), name="job_with_queued"),
        ]


class Worker(models.Model):
    id = models.CharField(primary_key=True, max_length=80)
    host = models.CharField(max_length=255)
    slots = models.IntegerField()
    sandbox = models.CharField(max_length=12, null=True)
    sandbox_note = models.TextField(default="")
    hud_version = models.CharField(max_length=40, null=True)
    hud_note = models.TextField(default="")
    version = models.CharField(max_length=40)
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()


class Run(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE)
    wire_id = models.UUIDField(default=uuid.uuid4)
    alias = models.CharField(max_length=255, null=True)
    job = models.ForeignKey(Job, models.CASCADE, null=True, related_name="runs")
    parent_wire_id = models.UUIDField(null=True)
    source = models.CharField(max_length=10)
    group_id = models.CharField(max_length=64, null=True)
    task_index = models.IntegerField(null=True)
    repeat = models.IntegerField(default=0)
    slug = models.CharField(max_length=255, null=True)

    # What it measures (promise 4).
    env = models.CharField(max_length=255, null=True)
    task_id = models.CharField(max_length=255, null=True)
    content_row = models.ForeignKey(TaskContent, models.SET_NULL, null=True)
    task_text = models.TextField(null=True)
    content_id = models.CharField(max_length=64, null=True)
    environment_version = models.ForeignKey(EnvironmentVersion, models.SET_NULL, null=True)
    image = models.CharField(max_length=512, null=True)
    image_id = models.CharField(max_length=100, null=True)
    agent_type = models.CharField(max_length=40, null=True)
    agent_config = models.TextField(null=True)
    model = models.CharField(max_length=255, null=True)
    model_endpoint_id = models.UUIDField(null=True)
    rollout_timeout_s = models.FloatField(null=True)

    # Where it is.
    state = models.CharField(max_length=12, default="queued")
    attempt = models.IntegerField(default=0)
    worker = models.ForeignKey(Worker, models.SET_NULL, null=True)
    lease_until = models.DateTimeField(null=True)
    dispatched_until = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    phase = models.CharField(max_length=40, null=True)
    sandbox = models.CharField(max_length=12, null=True)
    container_id = models.CharField(max_length=80, null=True)

    # What came of it.
    counted = models.CharField(max_length=10, default="pending")
    reward = models.FloatField(null=True)
    evaluation = models.TextField(null=True)
    failure_class = models.CharField(max_length=40, null=True)
    blame = models.CharField(max_length=20, null=True)
    error = models.TextField(null=True)
    stop_reason = models.CharField(max_length=40, null=True)
    metadata = models.TextField(null=True)
    exit_code = models.IntegerField(null=True)
    container_leaked = models.BooleanField(default=False)
    log_tail = models.BinaryField(null=True)

    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cached_tokens = models.BigIntegerField(default=0)
    cost_usd = models.FloatField(null=True)
    step_count = models.IntegerField(default=0)

    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField()
    revision = models.IntegerField(default=0)
    last_seq = models.IntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "wire_id"], name="run_wire_id_unique_in_team"),
            models.CheckConstraint(condition=Q(counted="graded") | Q(reward__isnull=True), name="only_graded_runs_have_a_reward"),
        ]
        indexes = [
            models.Index(fields=["job", "task_index", "repeat"], name="run_matrix"),
            models.Index(fields=["changed_at", "id"], name="run_changed"),
            models.Index(fields=["job", "state", "task_index", "repeat"], name="run_job_state"),
            models.Index(fields=["job", "dispatched_until"], condition=Q(dispatched_until__isnull=False), name="run_dispatched"),
            models.Index(fields=["source", "last_seen_at"], condition=Q(state="running", source="reported"), name="run_silent"),
            models.Index(fields=["lease_until"], condition=Q(state__in=["provisioning", "running", "grading"]), name="run_leased"),
            models.Index(fields=["team", "-created_at"], name="run_team_newest"),
            models.Index(fields=["team", "slug", "-created_at"], condition=Q(slug__isnull=False), name="run_slug_newest"),
        ]

    @property
    def terminal(self) -> bool:
        return self.state in TERMINAL


class Attempt(models.Model):
    """One try at a hosted run by one worker."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="attempts")
    number = models.IntegerField()
    worker_id = models.CharField(max_length=80)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=40, null=True)
    container_id = models.CharField(max_length=80, null=True)
    exit_code = models.IntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="one_row_per_attempt")]


class SuppliedModel(models.Model):
    """Where a run's model is served, when its caller said so and no endpoint of the team does. `url` is the whole address of chat completions."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="supplied_model")
    url = models.CharField(max_length=2000)
    api_key_encrypted = models.TextField(default="")
    may_lead_inside = models.BooleanField(default=False)


class SpanSegment(models.Model):
    """Spans of one batch, zstd over JSON texts joined by LF; append-only. `first_seq` … `first_seq + count - 1`."""

    run = models.ForeignKey(Run, models.CASCADE)
    attempt = models.IntegerField()
    first_seq = models.IntegerField()
    count = models.IntegerField()
    body = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "first_seq"], name="one_segment_per_place")]


class SpanFile(models.Model):
    """The spans of a run that ended, as one file in the default storage (`runs.actions.compaction`). `frames`: first seq, count, offset and
    length of each zstd frame in it."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="span_file")
    path = models.CharField(max_length=255)
    frames = models.JSONField()


class SpanIndex(models.Model):
    """One row a span: what lists, totals and order need. Bodies are in the segments."""

    run = models.ForeignKey(Run, models.CASCADE)
    attempt = models.IntegerField()
    seq = models.IntegerField()
    span_id = models.CharField(max_length=64)
    schema_tag = models.CharField(max_length=60, null=True)
    kind = models.CharField(max_length=60)
    step_id = models.IntegerField(null=True)
    name = models.CharField(max_length=255)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    status = models.CharField(max_length=12, null=True)
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cached_tokens = models.BigIntegerField(default=0)
    cost_usd = models.FloatField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "attempt", "span_id"], name="span_once_per_attempt")]
        indexes = [models.Index(fields=["run", "seq"], name="span_order")]


class Blob(models.Model):
    """An image or large payload of steps, content-addressed; the bytes are in the default storage under `blobs/`. `stored_at` is when it came
    last."""

    team = models.ForeignKey(Team, models.CASCADE)
    sha256 = models.CharField(max_length=64)
    mime_type = models.CharField(max_length=100)
    size_bytes = models.BigIntegerField()
    stored_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "sha256"], name="blob_once_per_team")]


class BlobUse(models.Model):
    """Which run shows which blob: what garbage collection marks by."""

    run = models.ForeignKey(Run, models.CASCADE)
    sha256 = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "sha256"], name="blob_use_once")]
        indexes = [models.Index(fields=["sha256"], name="blob_use_by_sha256")]


class Lease(models.Model):
    """A named duty that one process holds at a time (the scheduler's leader, the sweeper)."""

    name = models.CharField(primary_key=True, max_length=60)
    owner = models.CharField(max_length=80)
    until = models.DateTimeField()

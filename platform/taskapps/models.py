"""Keys of tasksets that are served as Task Apps: columns and constraints."""

from __future__ import annotations

import uuid

from django.db import models

from accounts.models import Team
from tasksets.models import Taskset


class TaskAppKey(models.Model):
    """Good for one taskset. Only the hash of its text is kept. `by_instance_admin`: made by one, so callers' models may be inside."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="task_app_keys")
    taskset = models.ForeignKey(Taskset, models.CASCADE, related_name="task_app_keys")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    sha256 = models.CharField(max_length=64, unique=True)
    by_instance_admin = models.BooleanField(default=False)
    user_id = models.UUIDField(null=True)
    created_by = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["taskset", "-created_at"], name="task_app_key_newest")]

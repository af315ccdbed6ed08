"""Share links: columns and constraints. The token is in the link only; here is its SHA-256, which needs no slow hash since it is random."""

from __future__ import annotations

import uuid

from django.db import models

from accounts.models import Team


class Share(models.Model):
    """`object_id` is of the room that owns the `kind`; `pin` names one fixed state of it and is empty when the link follows the newest.
    `reference` and `title` are as they were when the link was made."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="shares", db_index=False)
    kind = models.CharField(max_length=20)
    object_id = models.UUIDField()
    pin = models.CharField(max_length=100, blank=True)
    reference = models.CharField(max_length=500)
    title = models.CharField(max_length=255)
    token_sha256 = models.CharField(max_length=64, unique=True)
    created_by = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["team", "-created_at", "-id"], name="share_newest_first")]

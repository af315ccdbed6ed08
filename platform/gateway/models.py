"""A team's model endpoints: columns and constraints. The key and the extra headers are encrypted at rest."""

from __future__ import annotations

import uuid

from django.db import models

from accounts.models import Team


class ModelEndpoint(models.Model):
    """`by_instance_admin`: made by one, so it may lead to loopback and private addresses."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, models.CASCADE, related_name="model_endpoints")
    pattern = models.CharField(max_length=200)
    base_url = models.CharField(max_length=1000)
    api_key_encrypted = models.TextField(default="")
    headers_encrypted = models.TextField(default="")
    header_names = models.JSONField(default=list)
    by_instance_admin = models.BooleanField(default=False)
    created_by = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "pattern"], name="model_pattern_unique_in_team")]

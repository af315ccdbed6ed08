"""Blobs that no run shows any more go: first their rows, then files without a row. For a quiet process, once a day.

Who stores a blob writes its row first and looks for the file then (`runs.actions.spans.store_blob`); who sweeps looks for a row once more after the
file is gone, and puts it back when one came. So in whichever order the two meet, a row has its file.
"""

from __future__ import annotations

import logging

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db.models import Exists, OuterRef
from django.utils import timezone

from runs.models import Blob, BlobUse
from tasksets.sweeping import GRACE, files_under

logger = logging.getLogger(__name__)


def sweep_blobs() -> int:
    """How many files went."""
    uses = BlobUse.objects.filter(sha256=OuterRef("sha256"), run__team_id=OuterRef("team_id"))
    rows, _kinds = Blob.objects.filter(~Exists(uses), stored_at__lte=timezone.now() - GRACE).delete()
    gone = sum(_sweep_file(path) for path in files_under("blobs") if default_storage.get_modified_time(path) <= timezone.now() - GRACE)
    logger.info("blobs swept rows=%d files=%d", rows, gone)
    return gone


def _sweep_file(path: str) -> bool:
    rows = Blob.objects.filter(sha256=path.rpartition("/")[2])
    if rows.exists():
        return False
    with default_storage.open(path, "rb") as file:
        body = file.read()
    default_storage.delete(path)
    if rows.exists() and not default_storage.exists(path):
        default_storage.save(path, ContentFile(body))
        return False
    return True

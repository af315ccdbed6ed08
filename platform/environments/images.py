"""Images that builds of ours made and that no version needs: removed from the engine after a day.

A version that is ready keeps its image, since jobs are pinned to versions. What goes: images of versions that failed, were cancelled or
deleted, and what `no_cache` built anew. Only images that this instance built are looked at (`BUILT_FOR`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from environments.claims import UNFINISHED
from environments.models import EnvironmentVersion
from proctor.rollout.images import BuiltImage, built_images, remove_image
from proctor.rollout.sandbox import docker_client
from web.threads import in_reader

logger = logging.getLogger(__name__)

BUILT_FOR = "proctor.built-for"
"""Not the label of our containers: those that people start from the image inherit this one and must not look like ours."""
YOUNG_S = 86_400.0


async def drop_unneeded(instance: str, *, young_s: float = YOUNG_S) -> int:
    """How many images went from this worker's engine. Raises DockerError when it does not answer."""
    async with docker_client() as docker:
        images = await built_images(docker, BUILT_FOR, instance)
        unneeded = await in_reader(_unneeded, images, time.time() - young_s) if images else []
        gone = [image.id for image in unneeded if await remove_image(docker, image.id)]
    for image_id in gone:
        logger.info("image removed that no version needs image_id=%s", image_id)
    return len(gone)


def _unneeded(images: Sequence[BuiltImage], before: float) -> list[BuiltImage]:
    """None while a build goes on: it may be about to use one of them again."""
    versions = EnvironmentVersion.objects
    if versions.filter(status__in=UNFINISHED, source="build").exists():
        return []
    needed = {name for names in versions.filter(status="ready").values_list("image", "image_id") for name in names}
    return [image for image in images if image.created < before and not needed.intersection((image.id, *image.tags))]

"""Images on the Docker engine: look one up, build one from an uploaded folder, remove one, make the sample's own.

Nothing here pulls what was not asked for, and nothing blocks the event loop: archives are read and written in threads.
"""

from proctor.rollout.images.build import BuildFailed, BuildOptions, build_image
from proctor.rollout.images.context import ContextProblem, check_build_context, context_digest
from proctor.rollout.images.engine import BuiltImage, built_images, import_image, inspect_image, remove_image
from proctor.rollout.images.sample import SampleImage, ensure_sample_image, sample_tag

__all__ = [
    "BuildFailed",
    "BuildOptions",
    "BuiltImage",
    "ContextProblem",
    "SampleImage",
    "build_image",
    "built_images",
    "check_build_context",
    "context_digest",
    "ensure_sample_image",
    "import_image",
    "inspect_image",
    "remove_image",
    "sample_tag",
]

"""What an image is called here when nobody gave its environment a name."""

from __future__ import annotations

from accounts.names import normalise

LONGEST = 80


def image_handle(image: str) -> str:
    """The image's last word, without registry, tag and digest: `clicks` for `host:5000/team/clicks:1@sha256:…`."""
    last = image.partition("@")[0].rpartition("/")[2]
    return normalise(last.partition(":")[0])[:LONGEST].strip("-") or "image"

"""Another Proctor, as seen by who pulls from it: its download as a stream of JSON Lines, and everything it may do wrong.

The peer is not trusted: bytes, rows and time are bounded, redirects and compressed bodies are refused, and what it says of itself is
held against what it sends. The key goes into one header and nowhere else. No database.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import httpx
from django.conf import settings

from gateway.addresses import ADMIN_RULE, PrivateAddress
from gateway.outgoing import SILENCE_S, open_client
from web.errors import AppError

TOTAL_S = 1_800.0
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
NO_PROCTOR = "does not answer as a Proctor that gives tasksets (0.1 or newer): check the address"


@dataclass(frozen=True)
class Offer:
    """What the peer says that it will send."""

    host: str
    name: str
    number: int
    digest: str
    task_count: int


@contextlib.contextmanager
def opened(url: str, reference: str, *, key: str, may_lead_inside: bool) -> Iterator[tuple[Offer, Iterator[bytes]]]:
    """The offer, and the rows as they come. Raises AppError 422 (a private address), 502 (what the peer does wrong), 504."""
    host = urlsplit(url).hostname or ""
    address = f"{url.rstrip('/')}/api/tasksets/{quote(reference, safe='')}/download"
    headers = {"accept-encoding": "identity", **({"authorization": f"Bearer {key}"} if key else {})}
    try:
        with open_client(may_lead_inside=may_lead_inside, total_s=TOTAL_S) as client, client.stream(
            "GET", address, params={"format": "jsonl"}, headers=headers
        ) as response:  # fmt: skip
            _check_status(response, host)
            offer = _offer(response, host)
            yield offer, bounded(response.iter_raw(), offer)
    except PrivateAddress:
        raise AppError("private_address", 422, f"The address {host} {ADMIN_RULE}") from None
    except httpx.TimeoutException:
        message = f"{host} was silent for {SILENCE_S:g} s, or took longer than {TOTAL_S:g} s for all of it"
        raise AppError("pull_timeout", 504, message) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise failed(host, f"could not be reached, or the connection broke ({type(error).__name__})") from None


def failed(host: str, why: str) -> AppError:
    return AppError("pull_failed", 502, f"{host} {why}")


def _check_status(response: httpx.Response, host: str) -> None:
    status = response.status_code
    if response.is_redirect:
        raise failed(host, f"answered with a redirect ({status}), which is not followed: give the address where it leads")
    if status in (401, 403):
        raise failed(host, f"did not accept the key ({status})")
    if status == 404:
        raise failed(host, "has no such taskset or version, or the key is of another team (404)")
    if status != 200:
        raise failed(host, f"answered {status}")


def _offer(response: httpx.Response, host: str) -> Offer:
    get = response.headers.get
    number, count = get("proctor-version", ""), get("proctor-task-count", "")
    digest, encoding = get("proctor-digest", ""), get("content-encoding", "identity")
    if not DIGEST.fullmatch(digest) or not _is_count(number) or not _is_count(count) or encoding != "identity":
        raise failed(host, NO_PROCTOR)
    if not 0 < int(count) <= settings.PROCTOR_LIMITS["tasks_per_set"]:
        raise failed(host, f"offers {int(count):,} tasks; from 1 to {settings.PROCTOR_LIMITS['tasks_per_set']:,} can be pulled")
    return Offer(host, get("proctor-taskset", ""), int(number), digest, int(count))


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def bounded(pieces: Iterable[bytes], offer: Offer) -> Iterator[bytes]:
    """Not more bytes than an import may have, and exactly the rows that were offered. Raises AppError 502."""
    limit, size, rows = settings.PROCTOR_LIMITS["import_bytes"], 0, 0
    for piece in pieces:
        size += len(piece)
        rows += piece.count(b"\n")
        if size > limit or rows > offer.task_count:
            raise failed(offer.host, f"sends more than it offered ({offer.task_count:,} tasks), or more than {limit:,} bytes")
        yield piece
    if rows != offer.task_count:
        raise failed(offer.host, f"sent {rows:,} of {offer.task_count:,} tasks")

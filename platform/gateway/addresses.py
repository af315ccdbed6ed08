"""Where a URL that people give may lead: no loopback, private or link-local address unless an instance admin said so.

The facts about addresses, and the client's network backend that holds to them, are `proctor.addresses`; here are the refusals.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from proctor.addresses import PrivateAddress, PublicOnly, leads_inside, url_problem
from web.errors import AppError

__all__ = ["ADMIN_RULE", "PrivateAddress", "PublicOnly", "leads_inside", "private_refusal", "refuse_private", "url_problem"]

ADMIN_RULE = "leads to a loopback, private or link-local address, which only an instance admin may enter"


def refuse_private(base_url: str) -> None:
    """For who is about to call a route that may not lead inside. Raises AppError 422."""
    if leads_inside(base_url):
        raise private_refusal(urlsplit(base_url).hostname or "")


def private_refusal(host: str) -> AppError:
    return AppError("private_address", 422, f"The model endpoint's host {host} {ADMIN_RULE}")

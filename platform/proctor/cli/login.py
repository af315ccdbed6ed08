"""`proctor login`, `logout`, `whoami`: which server, as whom."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from proctor.cli.output import AsJson, answer, facts, note


def login(
    url: Annotated[str | None, typer.Option(help="The server's address.", envvar="PROCTOR_URL")] = None,
    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read the key from standard input.")] = False,
) -> None:
    """Check a key against the server, and keep both in a file that only you can read."""
    from proctor.client import Access, Client, calls, save_login
    from proctor.client.access import DEFAULT_ORIGIN

    url = url or (DEFAULT_ORIGIN if key_stdin else typer.prompt("Server", default=DEFAULT_ORIGIN))
    key = sys.stdin.readline().strip() if key_stdin else typer.prompt("API key", hide_input=True)
    access = Access(url, key)
    with Client(access) as client:
        me = client.send(calls.me())
    path = save_login(access)
    note(f"Signed in to {access.origin} as {me.email}, team {me.team.title}. Kept in {path}.")


def logout() -> None:
    """Forget the saved key (it stays valid: revoke it on the server)."""
    from proctor.client import forget_login

    note("Forgotten." if forget_login() else "There was no saved login.")


def whoami(as_json: AsJson = False) -> None:
    """The server, the person and the team that the key stands for."""
    from proctor.client import Client, calls

    with Client() as client:
        me = client.send(calls.me())
    if as_json:
        answer({"origin": client.access.origin, "email": me.email, "team": me.team.model_dump(), "server": me.server})
        return
    facts({"server": client.access.origin, "person": me.email, "team": me.team.title, "role": me.team.role, "version": me.server.get("version")})

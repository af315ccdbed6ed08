"""Which server, and with which key: given, from the environment, or from the login file.

`PROCTOR_URL` and `PROCTOR_API_KEY` come first, then the file that `proctor login` writes (mode 0600, under XDG_CONFIG_HOME or
`~/.config`). The file's key is sent to the file's origin alone. Imports the standard library only.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from proctor.errors import NotConfigured

DEFAULT_ORIGIN = "http://127.0.0.1:8000"
OWNER_ONLY = 0o600


@dataclass(frozen=True)
class Access:
    """An origin without a slash at its end (a path prefix is kept), and a key."""

    origin: str
    api_key: str = field(repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.origin)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise NotConfigured(f"The server's address must be like https://proctor.example, without a key in it: {_shown(self.origin)}")
        if not self.api_key or not self.api_key.isascii() or not self.api_key.isprintable() or " " in self.api_key:
            raise NotConfigured("The API key is empty, or has characters that no key has.")
        object.__setattr__(self, "origin", self.origin.rstrip("/"))


def _shown(url: str) -> str:
    """An address without what may be a secret in it."""
    parts = urlsplit(url)
    return repr(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl())


def find_access(origin: str | None = None, api_key: str | None = None) -> Access:
    """What is given wins, then the environment, then the login file. Raises NotConfigured."""
    found = find_access_or_none(origin, api_key)
    if found is None:
        raise NotConfigured("No API key: `proctor login`, or set PROCTOR_API_KEY (and PROCTOR_URL).")
    return found


def find_access_or_none(origin: str | None = None, api_key: str | None = None) -> Access | None:
    """The same; None when there is no key, so that what works without a server does."""
    origin = origin or os.environ.get("PROCTOR_URL") or None
    api_key = api_key or os.environ.get("PROCTOR_API_KEY") or None
    if api_key:
        return Access(origin or DEFAULT_ORIGIN, api_key)
    saved = read_login()
    if saved is None or (origin is not None and origin.rstrip("/") != saved.origin):
        return None
    return saved


def login_file() -> Path:
    """Where `proctor login` keeps the key."""
    folder = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(folder) / "proctor" / "login.json"


def read_login() -> Access | None:
    """The saved login; None without one. Raises NotConfigured when others may read the file, or it is broken."""
    path = login_file()
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="utf-8")
    except OSError:
        return None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise NotConfigured(f"{path} can be read by others: `chmod 600` it, or `proctor login` again.")
    try:
        saved = json.loads(text)
        return Access(str(saved["origin"]), str(saved["api_key"]))
    except (ValueError, KeyError, TypeError):
        raise NotConfigured(f"{path} is not what `proctor login` writes: `proctor login` again.") from None


def save_login(access: Access) -> Path:
    """Write the file whole or not at all, readable by its owner alone from the first byte on."""
    path = login_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    half = path.with_name(f".{path.name}.{os.getpid()}")
    half.unlink(missing_ok=True)
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"origin": access.origin, "api_key": access.api_key}, file)
    os.replace(half, path)
    return path


def forget_login() -> bool:
    """True when there was one."""
    path = login_file()
    there = path.exists()
    path.unlink(missing_ok=True)
    return there

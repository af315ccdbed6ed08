"""Where this instance keeps its data, and the secrets made once in it.

The data folder, its owner's alone, holds the SQLite file, blobs, sockets and three 0600 secrets: Django's key, the key that encrypts stored
secrets, and the instance id that labels everything made on a Docker engine. May import only the standard library.
"""

import base64
import contextlib
import os
import secrets
import uuid
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def data_folder() -> Path:
    folder = Path(os.environ.get("PROCTOR_DATA") or ROOT / "data").resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def keep_secret(folder: Path, name: str, make: Callable[[], str]) -> str:
    """The text of a 0600 file, made with `make()` when it is not there; safe when two processes start at once."""
    path = folder / name
    if not path.exists():
        draft = folder / f".{name}.{os.getpid()}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(make())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_text().strip()


def secret_key(folder: Path) -> str:
    return os.environ.get("PROCTOR_SECRET_KEY") or keep_secret(folder, "secret-key", lambda: secrets.token_urlsafe(50))


def encryption_key(folder: Path) -> str:
    """A Fernet key: 32 bytes, urlsafe base64."""
    return os.environ.get("PROCTOR_ENCRYPTION_KEY") or keep_secret(folder, "encryption-key", lambda: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())


def instance_id(folder: Path) -> str:
    return os.environ.get("PROCTOR_INSTANCE") or keep_secret(folder, "instance-id", lambda: uuid.uuid4().hex)


def hud_python() -> str:
    """The Python that `make hud-agents` made, empty when it did not."""
    python = ROOT / ".hud-agents" / "bin" / "python"
    return str(python) if python.exists() else ""

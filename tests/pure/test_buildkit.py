"""What we read of Dockerfiles, contexts and BuildKit's messages before any engine is asked."""

from __future__ import annotations

import contextlib
import io
import tarfile
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, TrailersReceived
from hypothesis import given
from hypothesis import strategies as st

from proctor.rollout.images.buildkit import Progress, needs_buildkit
from proctor.rollout.images.buildkit_session import GET_SECRET, HEALTH, SecretServer
from proctor.rollout.images.context import context_digest, read_dockerfile
from proctor.rollout.images.protobuf import field, fields


@given(st.lists(st.tuples(st.integers(1, 2**20), st.one_of(st.integers(0, 2**63), st.binary(max_size=300)))))
def test_fields_come_back_as_they_were_written(written: list[tuple[int, int | bytes]]) -> None:
    assert list(fields(b"".join(field(number, value) for number, value in written))) == written


@given(st.binary(max_size=200))
def test_what_is_no_message_is_refused_and_never_loops(noise: bytes) -> None:
    with contextlib.suppress(ValueError):
        list(fields(noise))


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("FROM a\nRUN --mount=type=secret,id=T cat /run/secrets/T", True),
        ("FROM a\nrun --network=none --mount=type=cache,target=/c x", True),
        ("# syntax=docker/dockerfile:1\nFROM a", True),
        ("FROM a\nCOPY --link a b", True),
        ("FROM a\nRUN <<EOF\necho\nEOF", True),
        ("FROM a\nRUN echo --mount=type=secret", False),
        ("FROM a\nCOPY --chown=1:1 a b\n# RUN --mount=x", False),
    ],
)
def test_buildkit_is_used_where_the_dockerfile_needs_it(text: str, needed: bool) -> None:
    assert needs_buildkit(text) is needed


def vertex(digest: bytes, name: str, **more: int | bytes) -> bytes:
    numbers = {"cached": 4, "started": 5, "completed": 6, "error": 7}
    extra = b"".join(field(numbers[key], value) for key, value in more.items())
    return field(1, field(1, digest) + field(3, name.encode()) + extra)


def output(digest: bytes, text: str) -> bytes:
    return field(3, field(1, digest) + field(4, text.encode()))


def test_progress_is_told_in_lines_and_remembers_the_step_that_failed() -> None:
    lines = list[str]()
    progress = Progress(lines.append)
    for trace in (
        vertex(b"0", "[internal] load build definition", started=b""),
        vertex(b"1", "[1/3] FROM base", cached=1, started=b""),
        vertex(b"2", "[2/3] RUN two", started=b""),
        output(b"2", "half a "),
        output(b"2", "line\nnext\r\n"),
        vertex(b"2", "[2/3] RUN two", started=b"", completed=b"", error=b"exit code: 3"),
        vertex(b"2", "[2/3] RUN two", started=b"", completed=b"", error=b"exit code: 3"),
    ):
        progress.add(trace)
    assert lines == ["[1/3] FROM base (cached)", "[2/3] RUN two", "half a line", "next", "[2/3] RUN two: exit code: 3"]
    assert progress.step == "[2/3] RUN two"


# — the session


def asked(secrets: dict[str, str], path: str, message: bytes) -> tuple[bytes, str | None]:
    """What the engine's side hears: the message and the status."""
    client, sent = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8")), list[bytes]()
    server = SecretServer(secrets, sent.append)
    client.initiate_connection()
    client.send_headers(1, [(":method", "POST"), (":path", path), (":scheme", "http"), (":authority", "localhost"), ("te", "trailers")])
    client.send_data(1, b"\0" + len(message).to_bytes(4, "big") + message, end_stream=True)
    server.begin()
    heard, status = b"", None
    for _ in range(200):
        if data := client.data_to_send():
            server.feed_data(data)
        received, sent[:] = b"".join(sent), []
        for event in client.receive_data(received):
            if isinstance(event, DataReceived):
                heard += event.data
                client.acknowledge_received_data(event.flow_controlled_length, 1)
            if isinstance(event, ResponseReceived | TrailersReceived):
                status = dict(event.headers).get("grpc-status", status)
    return heard[5:], status


def test_a_secret_is_answered_whole_and_others_are_not_found() -> None:
    secret = "s" * 200_000
    message, status = asked({"TOKEN": secret}, GET_SECRET, field(1, b"TOKEN"))
    assert (list(fields(message)), status) == ([(1, secret.encode())], "0")
    assert asked({"TOKEN": secret}, GET_SECRET, field(1, b"OTHER")) == (b"", "5")
    assert asked({}, HEALTH, b"") == (field(1, 1), "0")
    assert asked({}, "/moby.filesync.v1.Auth/Credentials", b"") == (b"", "12")


def test_what_is_no_http2_ends_the_session() -> None:
    server = SecretServer({}, lambda _: None)
    server.begin()
    assert server.feed_data(b"GET / HTTP/1.1\r\n\r\n" + b"x" * 100)[0] is True


# — contexts


def context(folder: Path, name: str, files: dict[str, str], *, mode: str = "w", mtime: int = 0, backwards: bool = False) -> Path:
    path = folder / name
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for inner, text in sorted(files.items(), reverse=backwards):
            entry = tarfile.TarInfo(inner)
            entry.size, entry.mtime = len(text), mtime
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_the_same_files_have_the_same_digest_however_they_are_packed(tmp_path: Path) -> None:
    files = {"Dockerfile": "FROM a", "env.py": "x = 1"}
    first = context_digest(context(tmp_path, "a", files))
    assert context_digest(context(tmp_path, "b", {f"./{name}": text for name, text in files.items()}, mode="w:gz", mtime=9, backwards=True)) == first
    assert context_digest(context(tmp_path, "c", {**files, ".hud/config.json": "{}"})) == first
    assert context_digest(context(tmp_path, "d", {**files, "env.py": "x = 2"})) != first
    assert context_digest(context(tmp_path, "e", {**files, "more.py": ""})) != first


def test_huds_dockerfile_goes_first(tmp_path: Path) -> None:
    assert read_dockerfile(context(tmp_path, "a", {"Dockerfile": "FROM a", "Dockerfile.hud": "FROM b"})).text == "FROM b"
    assert read_dockerfile(context(tmp_path, "b", {"./Dockerfile": "FROM a"})).name == "Dockerfile"

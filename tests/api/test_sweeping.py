"""What nothing holds goes after a day, by marking; what comes back in between, or in that very moment, stays."""

from __future__ import annotations

import hashlib
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from accounts.callers import Caller
from proctor.content import parse_row
from runs.actions import blobs as run_blobs
from runs.actions.blobs import sweep_blobs
from runs.actions.spans import blob_path, store_blob
from runs.models import Blob, BlobUse, Run
from runs.spans import Media
from tasksets import commits, sweeping
from tasksets.models import Chunk, Import, Mark, TaskContent
from tasksets.sweeping import sweep
from tests.support.tasksets import Api, row

pytestmark = pytest.mark.usefixtures("blobs")

DAY = 86_400


@pytest.fixture
def api(ada_key: str) -> Api:
    return Api(ada_key)


def abandoned(caller: Caller, number: int = 1) -> str:
    """A content as an upload leaves it that never came to its version."""
    task = parse_row(b'{"slug":"s","env":"e","id":"t","args":{"n":%d}}' % number)
    commits.write_contents(caller.team_id, [task])
    return task.content_id


def a_day_passes(blobs: Path | None = None) -> None:
    for mark in Mark.objects.all():
        Mark.objects.filter(id=mark.id).update(since=mark.since - timedelta(days=1))
    Blob.objects.update(stored_at=timezone.now() - timedelta(days=2))
    for path in blobs.rglob("*") if blobs else ():
        os.utime(path, (time.time() - 2 * DAY,) * 2)


def test_an_abandoned_content_goes_at_the_second_look_a_day_later(api: Api, ada: Caller) -> None:
    api.upload("s", row("a", args={"n": 1}), row("b", args={"n": 2}))
    abandoned(ada, 7)
    assert sweep().contents == 0 and Mark.objects.count() == 1, "just stored: it may be on its way to a version"
    assert sweep().contents == 0
    a_day_passes()
    assert sweep().contents == 1
    assert TaskContent.objects.count() == 2 and not Mark.objects.exists() and api.slugs("s") == ["a", "b"]


def test_what_any_version_holds_stays(api: Api, ada: Caller) -> None:
    api.upload("s", row("a", args={"n": 1}))
    api.upload("s", row("a", args={"n": 2}))
    api.send("/api/tasksets/s", {"archived": True}, "PATCH")
    for _ in range(2):
        assert (sweep().contents, sweep().chunks) == (0, 0)
        a_day_passes()
    assert TaskContent.objects.count() == 2 and Chunk.objects.count() == 2


def test_a_content_that_comes_into_a_version_in_between_loses_its_mark(api: Api, ada: Caller) -> None:
    task = parse_row(b'{"slug":"a","env":"letters","id":"count","args":{"n":1}}')
    commits.write_contents(ada.team_id, [task])
    sweep()
    a_day_passes()
    api.upload("s", row("a", args={"n": 1}))
    assert sweep().contents == 0 and not Mark.objects.exists() and api.slugs("s") == ["a"]


def test_a_content_that_comes_again_while_it_is_swept_survives(api: Api, ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upload gets between the marks and the deletion: its version is one that the marks do not know."""
    task = parse_row(b'{"slug":"a","env":"letters","id":"count","args":{"n":1}}')
    commits.write_contents(ada.team_id, [task])
    sweep()
    a_day_passes()
    due = sweeping._due

    def late(team_id: Any, kind: str, loose: Any) -> list[str]:
        found = due(team_id, kind, loose)
        if kind == "content":
            assert found == [task.content_id]
            api.upload("s", row("a", args={"n": 1}))
        return found

    monkeypatch.setattr(sweeping, "_due", late)
    assert sweep().contents == 0 and api.slugs("s") == ["a"]
    assert TaskContent.objects.filter(content_id=task.content_id).exists()


def test_a_commit_whose_content_goes_under_its_hands_stores_it_again(api: Api, ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deletion gets between the contents and the version of an upload."""
    prepare, swept = commits._prepare, []

    def late(*args: Any) -> Any:
        made = prepare(*args)
        if not swept:
            swept.append(TaskContent.objects.all().delete())
        return made

    monkeypatch.setattr(commits, "_prepare", late)
    check = commits._commit

    def commit(*args: Any) -> Any:
        """The test's own transaction puts off what a commit checks: foreign keys."""
        with transaction.atomic():
            done = check(*args)
            connection.check_constraints()
        return done

    monkeypatch.setattr(commits, "_commit", commit)
    assert api.upload("s", row("a", args={"n": 1})).status_code == 200
    assert swept and api.export("s")["tasks"][0]["args"] == {"n": 1}


def test_a_team_that_is_committing_an_import_is_left_alone(api: Api, ada: Caller) -> None:
    abandoned(ada)
    sweep()
    a_day_passes()
    busy = Import.objects.create(
        team_id=ada.team_id,
        filename="x",
        size_bytes=1,
        format="jsonl",
        status="committing",
        claimed_until=timezone.now() + timedelta(minutes=1),
    )
    assert sweep().contents == 0
    busy.delete()
    assert sweep().contents == 1


def test_a_redacted_content_stays_redacted_though_nothing_holds_it(api: Api, ada: Caller) -> None:
    content_id = abandoned(ada)
    TaskContent.objects.update(redacted_at=timezone.now())
    sweep()
    a_day_passes()
    assert sweep().contents == 0 and TaskContent.objects.filter(content_id=content_id).exists()


def test_chunks_that_a_broken_purge_left_go(api: Api, ada: Caller) -> None:
    api.upload("s", row("a"))
    Chunk.objects.create(team_id=ada.team_id, chunk_id="f" * 64, text=f'{"0" * 64} "x"\n')
    sweep()
    a_day_passes()
    assert sweep().chunks == 1 and Chunk.objects.count() == 1 and api.slugs("s") == ["a"]


def test_teams_are_swept_each_by_itself(api: Api, ada: Caller, cy_key: str, cy: Caller) -> None:
    Api(cy_key).upload("theirs", row("a", env="e", task_id="t", args={"n": 1}))
    abandoned(ada, 1)
    sweep()
    a_day_passes()
    assert sweep().contents == 1 and TaskContent.objects.get().team_id == cy.team_id, "the same content of another team is another's"


def test_files_of_no_row_go_when_they_are_a_day_old(api: Api, blobs: Path) -> None:
    api.upload("s", row("a"))
    kept = {path for path in blobs.rglob("*") if path.is_file()}
    for name in ("exports/ab/gone/x.json.gz", "contexts/gone.tar"):
        default_storage.save(name, ContentFile(b"x"))
    assert sweep().files == 0, "a row may be on its way"
    a_day_passes(blobs)
    assert sweep().files == 2 and {path for path in blobs.rglob("*") if path.is_file()} == kept


def media(body: bytes = b"picture") -> Media:
    return Media(hashlib.sha256(body).hexdigest(), "image/png", body)


def use(caller: Caller, sha256: str) -> Run:
    run = Run.objects.create(team_id=caller.team_id, source="reported", changed_at=timezone.now())
    BlobUse.objects.create(run=run, sha256=sha256)
    return run


def test_a_blob_that_no_run_shows_goes_and_one_that_a_run_shows_stays(ada: Caller, blobs: Path) -> None:
    store_blob(ada.team_id, media())
    store_blob(ada.team_id, media(b"kept"))
    use(ada, media(b"kept").sha256)
    assert sweep_blobs() == 0, "its run may be on its way"
    a_day_passes(blobs)
    assert sweep_blobs() == 1
    assert [blob.sha256 for blob in Blob.objects.all()] == [media(b"kept").sha256] and default_storage.exists(
        blob_path(media(b"kept").sha256)
    )


def test_a_blob_of_another_teams_run_keeps_the_file_and_not_our_row(ada: Caller, cy: Caller, blobs: Path) -> None:
    store_blob(ada.team_id, media())
    store_blob(cy.team_id, media())
    use(cy, media().sha256)
    a_day_passes(blobs)
    assert sweep_blobs() == 0 and Blob.objects.get().team_id == cy.team_id and default_storage.exists(blob_path(media().sha256))


def test_a_blob_that_comes_again_is_young_again(ada: Caller, blobs: Path) -> None:
    store_blob(ada.team_id, media())
    a_day_passes(blobs)
    store_blob(ada.team_id, media())
    assert sweep_blobs() == 0 and default_storage.exists(blob_path(media().sha256))


def test_a_blob_that_comes_again_while_its_file_goes_has_its_file(ada: Caller, blobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_blob(ada.team_id, media())
    a_day_passes(blobs)
    delete = type(default_storage._wrapped).delete if hasattr(default_storage, "_wrapped") else None
    assert delete is not None

    def late(self: Any, name: str) -> None:
        """Between the look for rows and the deletion: the row is written, the file is still there."""
        store_blob(ada.team_id, media())
        delete(self, name)

    monkeypatch.setattr(type(default_storage._wrapped), "delete", late)
    assert sweep_blobs() == 0
    assert Blob.objects.count() == 1 and default_storage.open(blob_path(media().sha256)).read() == b"picture"
    assert run_blobs.sweep_blobs() == 0


def test_the_command_says_what_it_did(ada: Caller, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("sweep")
    assert "0 contents, 0 chunks, 0 files and 0 blobs deleted" in capsys.readouterr().err

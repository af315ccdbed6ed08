"""Every read about environments and their versions: scoped to the caller, or to a team for the rooms above."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from accounts.callers import Caller
from accounts.names import normalise
from environments.models import Environment, EnvironmentVersion, LogChunk
from web.errors import not_found
from web.ids import known_uuid, parse_uuid

LOG_SHOWN = 256 * 1024
CHUNKS_A_READ = 200


@dataclass(frozen=True)
class Listed:
    """An environment with what a list shows of it."""

    environment: Environment
    latest: EnvironmentVersion | None
    ready: EnvironmentVersion | None
    version_count: int


def newest_ready(team_id: uuid.UUID, name: str) -> EnvironmentVersion | None:
    """What a new job gets for an environment's name, as people write it."""
    ready = EnvironmentVersion.objects.filter(environment__team_id=team_id, environment__name=normalise(name), status="ready")
    return ready.select_related("environment").order_by("-number").first()


def newest_ready_of(team_id: uuid.UUID, handles: Collection[str]) -> dict[str, EnvironmentVersion]:
    """The same for many handles, in two queries; those without a ready version are left out."""
    ready = EnvironmentVersion.objects.filter(environment=OuterRef("pk"), status="ready").order_by("-number")
    named = Environment.objects.filter(team_id=team_id, name__in=handles).annotate(ready_id=Subquery(ready.values("id")[:1]))
    newest = [version_id for version_id in named.values_list("ready_id", flat=True) if version_id]
    found = EnvironmentVersion.objects.select_related("environment").filter(id__in=newest)
    return {version.environment.name: version for version in found}


def find_names(team_id: uuid.UUID) -> list[str]:
    """The names that a job may use: environments with a ready version."""
    ready = Environment.objects.filter(team_id=team_id, versions__status="ready")
    return list(ready.order_by("name").values_list("name", flat=True).distinct())


def get_version(version_id: uuid.UUID) -> EnvironmentVersion:
    """For the platform itself, which holds the id already. Raises AppError 404."""
    version = EnvironmentVersion.objects.select_related("environment").filter(id=version_id).first()
    if version is None:
        raise not_found("Environment version")
    return version


def find_environments(caller: Caller, search: str = "") -> QuerySet[Environment]:
    found = Environment.objects.filter(team_id=caller.team_id).order_by("name")
    return found.filter(Q(name__icontains=search) | Q(title__icontains=search)) if search else found


def get_environment(caller: Caller, reference: str) -> Environment:
    """By id, or by name as people write it. Raises AppError 404 for another team's."""
    identity = parse_uuid(reference)
    chosen = Q(id=identity) if identity else Q(name=normalise(reference))
    environment = Environment.objects.filter(chosen, team_id=caller.team_id).first()
    if environment is None:
        raise not_found("Environment")
    return environment


def list_environments(found: QuerySet[Environment]) -> list[Listed]:
    """In three queries however many there are."""
    versions = EnvironmentVersion.objects.filter(environment=OuterRef("pk")).order_by("-number")
    rows = list(
        found.annotate(
            version_count=Count("versions"),
            latest_id=Subquery(versions.values("id")[:1]),
            ready_id=Subquery(versions.filter(status="ready").values("id")[:1]),
        )
    )
    wanted = {version_id for row in rows for version_id in (row.latest_id, row.ready_id) if version_id}
    there = EnvironmentVersion.objects.in_bulk(wanted)
    return [Listed(row, there.get(row.latest_id), there.get(row.ready_id), row.version_count) for row in rows]


def newest_folders(team_id: uuid.UUID, names: Iterable[str]) -> dict[str, str]:
    """Of the named environments those that are task folders, each with where its newest folder lies in storage."""
    held = EnvironmentVersion.objects.filter(environment__team_id=team_id, environment__kind="folder").exclude(context_path=None)
    wanted, rows = set(names), held.order_by("number").values_list("environment__name", "context_path")
    return {name: path for name, path in rows if name in wanted and path is not None}


def describe(environment: Environment) -> Listed:
    return list_environments(Environment.objects.filter(id=environment.id))[0]


def find_versions(environment: Environment) -> QuerySet[EnvironmentVersion]:
    """Newest first."""
    return environment.versions.order_by("-number")


def get_numbered(environment: Environment, number: int) -> EnvironmentVersion:
    """Raises AppError 404."""
    version = environment.versions.filter(number=number).first()
    if version is None:
        raise not_found("Environment version")
    return version


def get_build(caller: Caller, build_id: str) -> EnvironmentVersion:
    """A version by its own id. Raises AppError 404 for another team's."""
    mine = EnvironmentVersion.objects.select_related("environment").filter(environment__team_id=caller.team_id)
    version = mine.filter(id=known_uuid(build_id, "Build")).first()
    if version is None:
        raise not_found("Build")
    return version


def build_key(caller: Caller, version_id: uuid.UUID) -> uuid.UUID | None:
    return EnvironmentVersion.objects.filter(environment__team_id=caller.team_id, id=version_id).values_list("id", flat=True).first()


def versions_of(version_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, EnvironmentVersion]:
    return EnvironmentVersion.objects.in_bulk(version_ids)


def read_log(version_id: uuid.UUID, after: int = 0) -> list[LogChunk]:
    """The next chunks of a log, at most 200."""
    return list(LogChunk.objects.filter(version_id=version_id, seq__gt=after).order_by("seq")[:CHUNKS_A_READ])


def log_pieces(version_id: uuid.UUID) -> Iterator[str]:
    """The whole log, piece by piece."""
    return LogChunk.objects.filter(version_id=version_id).order_by("seq").values_list("text", flat=True).iterator(CHUNKS_A_READ)


def log_end(version: EnvironmentVersion) -> str:
    """The last 256 Ki characters, with a note of what went before them."""
    kept, size = list[str](), 0
    newest = LogChunk.objects.filter(version=version, seq__lte=version.log_seq).order_by("-seq").values_list("text", flat=True)
    for text in newest.iterator(20):
        kept.append(text)
        size += len(text)
        if size > LOG_SHOWN:
            break
    whole = "".join(reversed(kept))
    return whole if size <= LOG_SHOWN else f"(what is before this is in the whole log)\n{whole[-LOG_SHOWN:]}"

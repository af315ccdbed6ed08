"""The websocket on which HUD's command line follows a build (contracts: 2.7): the log so far, then what comes, then how it ended.

The key comes in the query string, as that client sends it. Every `status` frame has `message`, every `error` frame `error`.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer

from accounts.queries import caller_for_key
from environments import queries
from environments.hud_builds import status_word
from environments.models import EnvironmentVersion
from web.errors import AppError
from web.threads import in_reader

LOOK_EVERY_S = 0.3
DENIED = 4003


class BuildLog(AsyncWebsocketConsumer):
    follower: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        await self.accept()
        self.follower = asyncio.create_task(self._follow())

    async def disconnect(self, code: int) -> None:
        if self.follower is not None:
            self.follower.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """What a client says here means nothing."""

    async def _follow(self) -> None:
        try:
            version = await in_reader(self._version)
        except AppError as error:
            await self._say(type="error", error=error.message)
            await self.close(code=DENIED)
            return
        await self._say(type="status", message=f"Streaming the log of version {version.number} of {version.environment.name}")
        seen, told = 0, ""
        while True:
            word = status_word(version)
            if word != told:
                told = word
                await self._say(type="status_update", status=word)
            while chunks := await in_reader(queries.read_log, version.id, seen):
                for chunk in chunks:
                    seen = chunk.seq
                    for line in chunk.text.splitlines():
                        await self._say(type="log", message=line, timestamp=int(chunk.at.timestamp() * 1000))
            if word not in ("IN_PROGRESS", "CANCELLING"):
                await self._end(version, word)
                return
            await asyncio.sleep(LOOK_EVERY_S)
            await in_reader(version.refresh_from_db)

    def _version(self) -> EnvironmentVersion:
        """Raises AppError 401, 403, 404."""
        query = parse_qs(self.scope["query_string"].decode("latin-1"))
        caller = caller_for_key(query.get("api_key", [""])[0])
        caller.require("read")
        return queries.get_build(caller, self.scope["url_route"]["kwargs"]["build_id"])

    async def _end(self, version: EnvironmentVersion, word: str) -> None:
        if word == "SUCCEEDED":
            await self._say(type="complete", message=f"Version {version.number} is ready")
        else:
            await self._say(type="error", error=version.error or word)
        await self.close(code=1000)

    async def _say(self, **frame: Any) -> None:
        await self.send(text_data=json.dumps(frame))

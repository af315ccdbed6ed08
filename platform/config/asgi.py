"""The ASGI application: HTTP by Django, `/ws` by Channels."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in (str(ROOT), str(ROOT / "platform")):
    if folder not in sys.path:
        sys.path.insert(1, folder)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from channels.routing import ProtocolTypeRouter  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402

http = get_asgi_application()

from config.websockets import websocket_application  # noqa: E402

application = ProtocolTypeRouter({"http": http, "websocket": websocket_application})

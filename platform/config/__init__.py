"""Settings, URLs, ASGI, broker: wiring only, imported by nobody."""

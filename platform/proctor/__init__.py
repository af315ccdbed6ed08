"""Proctor's SDK, wire models and rollout engine: installs and imports without Django or the server."""

__version__ = "0.1.0"

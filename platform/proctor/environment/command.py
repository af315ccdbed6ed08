"""The command line of `python -m proctor.environment`."""

from __future__ import annotations

import argparse
import logging
import sys

from .load import EnvironmentNotFound, load_environment
from .server import serve_until_terminated


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="proctor.environment", description="Serve an environment on the HUD control channel.")
    parser.add_argument("path", help="a Python file that declares an Environment, or a folder with env.py")
    parser.add_argument("--env", help="which one, when the file declares several")
    parser.add_argument("--host", default="127.0.0.1", help="interface to bind (0.0.0.0 in a container)")
    parser.add_argument("--port", type=int, default=0, help="port to bind (0: any free one, printed)")
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    try:
        env = load_environment(options.path, options.env)
    except EnvironmentNotFound as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 2
    serve_until_terminated(env, options.host, options.port)
    return 0

#!/usr/bin/env python3
"""Starts Django; puts `platform/` on the path; nothing else.

`platform/` is a source root without `__init__.py`: with one it would shadow the standard library's `platform`.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(1, str(ROOT / "platform"))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

if __name__ == "__main__":
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)

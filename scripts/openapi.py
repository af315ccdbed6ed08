"""Writes the OpenAPI description of the native API, as `/api/schema` serves it: `python scripts/openapi.py` → docs/reference/openapi.json."""

import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "reference" / "openapi.json"


def text() -> str:
    """Needs no database; the settings want a data folder, so they get one that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PROCTOR_DATA"] = folder
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        sys.path[:0] = [str(ROOT), str(ROOT / "platform")]
        import django

        django.setup()
        from drf_spectacular.generators import SchemaGenerator

        schema = SchemaGenerator().get_schema(request=None, public=True)
        return json.dumps(schema, indent=1) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text())

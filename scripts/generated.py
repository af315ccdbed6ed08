"""The files that are made from code: the page's wire types, the OpenAPI description and the reference of the command line.

`generated.py` rewrites them; `generated.py --check` changes nothing and exits 1, naming those that are stale. The TypeScript
half needs the page's packages and is left out, with a word on stderr, where they are not installed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import cli_reference
import openapi
import wire_schema

ROOT = Path(__file__).resolve().parent.parent
TYPES_SCRIPT = ROOT / "frontend" / "node_modules" / ".bin" / "openapi-typescript"


def wanted() -> dict[Path, str]:
    schema = json.dumps(wire_schema.document(), indent=1, sort_keys=True) + "\n"
    files = {wire_schema.TARGET: schema, openapi.TARGET: openapi.text(), cli_reference.TARGET: cli_reference.text()}
    if TYPES_SCRIPT.exists():
        files[wire_schema.TARGET.with_name("wire.d.ts")] = typescript(schema)
    else:
        print("the page's packages are not installed: wire.d.ts is not looked at", file=sys.stderr)
    return files


def typescript(schema: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "wire.schema.json"), Path(folder, "wire.d.ts")
        source.write_text(schema)
        command = [TYPES_SCRIPT, source, "--default-non-nullable=false", "-o", target]
        subprocess.run(command, check=True, cwd=ROOT / "frontend", stdout=subprocess.DEVNULL)
        return target.read_text()


def main(check: bool) -> int:
    stale = {path: text for path, text in wanted().items() if not path.exists() or path.read_text() != text}
    for path, text in stale.items():
        print(f"{'stale; run `make fix`' if check else 'written'}: {path.relative_to(ROOT)}", file=sys.stderr)
        if not check:
            path.write_text(text)
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))

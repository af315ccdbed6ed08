"""`python -m proctor.environment env.py`, or `python <this folder> env.py` wherever the folder lies: serve an environment.

Run as a folder there is no `proctor` package, so the folder itself is made known as `proctor.environment` first.
"""

from __future__ import annotations

import sys


def _become_proctor_environment() -> None:
    import importlib.util
    import os
    from types import ModuleType

    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]  # our modules are nobody's top-level modules
    spec = importlib.util.spec_from_file_location(
        "proctor.environment", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None and spec.loader is not None
    parent, package = ModuleType("proctor"), importlib.util.module_from_spec(spec)
    parent.__path__ = []
    sys.modules.update({"proctor": parent, "proctor.environment": package})
    spec.loader.exec_module(package)
    parent.Environment = package.Environment  # type: ignore[attr-defined]  # so that `from proctor import Environment` works here too


if not __package__:
    _become_proctor_environment()

from proctor.environment.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())

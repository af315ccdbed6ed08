"""The environment folder works alone: copied anywhere, run by a Python that sees nothing but the standard library."""

import ast
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import proctor.environment
from proctor.samples import sample_env_file, sample_task_lines

FOLDER = Path(proctor.environment.__file__).parent
BARE = [sys.executable, "-S", "-I"]


@pytest.fixture
def copied(tmp_path):
    """A copy of the folder under another name, with the sample's environment beside it; nothing of the repository is near."""
    shutil.copytree(FOLDER, tmp_path / "some folder", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(sample_env_file(), tmp_path / "env.py")
    return tmp_path


@contextmanager
def serving(command, cwd, **environ):
    """A serving process and its port; ended by SIGTERM, which must be an orderly end."""
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"], **environ})
    try:
        line = process.stdout.readline()
        assert line.startswith("HUD_SERVE_PORT="), line
        yield int(line.partition("=")[2])
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def calls(port, *requests):
    with socket.create_connection(("127.0.0.1", port), 30) as connection, connection.makefile("rwb") as stream:
        for method, params in requests:
            stream.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
            stream.flush()
            yield json.loads(stream.readline())["result"]


def solve_first_problem(port):
    task = json.loads(sample_task_lines()[0])
    answer = f"A: {task['args']['answer']}"
    requests = [("hello", {}), ("tasks.start", {"id": "solve", "args": task["args"]}), ("tasks.grade", {"answer": answer})]
    hello, started, grade = calls(port, *requests)
    assert hello["env"] == {"name": "gsm8k", "version": "1.0.0"}
    assert started == {"prompt": task["args"]["question"]}
    assert grade["score"] == 1.0


def test_the_copied_folder_serves_by_its_path(copied):
    with serving([*BARE, "some folder", "env.py"], copied) as port:
        solve_first_problem(port)


def test_the_copied_folder_serves_when_imported_as_a_package(copied):
    (copied / "lib/proctor").mkdir(parents=True)
    (copied / "some folder").rename(copied / "lib/proctor/environment")
    program = "import sys; sys.path.insert(0, 'lib'); from proctor.environment.command import main; sys.exit(main(['env.py']))"
    with serving([*BARE, "-c", program], copied) as port:
        solve_first_problem(port)


def test_the_module_of_the_installed_package_serves(tmp_path):
    command = [sys.executable, "-m", "proctor.environment", str(sample_env_file()), "--port", "0"]
    with serving(command, tmp_path, PYTHONPATH=str(FOLDER.parents[1])) as port:
        solve_first_problem(port)


def test_proctor_serve_serves(tmp_path):
    command = [sys.executable, "-c", "from proctor.cli import main; main()", "serve", str(sample_env_file())]
    with serving(command, tmp_path, PYTHONPATH=str(FOLDER.parents[1])) as port:
        solve_first_problem(port)


def test_its_modules_are_nobodys_top_level_modules(copied):
    (copied / "env.py").write_text("import server\nfrom proctor.environment import Environment\nenv = Environment(server.NAME)\n")
    (copied / "server.py").write_text("NAME = 'neighbour'\n")
    with serving([*BARE, "some folder", "env.py"], copied) as port:
        (hello,) = calls(port, ("hello", {}))
    assert hello["env"]["name"] == "neighbour"


def test_initialise_and_shutdown_hooks_run_around_serving(copied):
    (copied / "env.py").write_text(
        "from pathlib import Path\n"
        "from proctor.environment import Capability, Environment\n"
        "env = Environment('hooks')\n"
        "@env.initialize\n"
        "async def up(): env.add_capability(Capability('late', 'x/1', 'tcp://127.0.0.1:1'))\n"
        "@env.shutdown\n"
        "def down(): Path('down').touch()\n"
    )
    with serving([*BARE, "some folder", "env.py"], copied) as port:
        (hello,) = calls(port, ("hello", {}))
    assert hello["bindings"] == [{"name": "late", "protocol": "x/1", "url": "tcp://127.0.0.1:1", "params": {}}]
    assert (copied / "down").exists()


@pytest.mark.parametrize(
    ("source", "arguments", "message"),
    [
        (None, [], "error: no environment source at missing.py"),
        ("x = 1", [], "error: no Environment in missing.py"),
        ("a, b = Environment('one'), Environment('two')", [], "several Environments in missing.py (one, two): choose one with --env"),
        ("a = Environment('one')", ["--env", "two"], "error: no Environment named 'two' in missing.py"),
    ],
)
def test_a_file_without_exactly_one_environment_is_a_clear_error(copied, source, arguments, message):
    if source is not None:
        (copied / "missing.py").write_text(f"from proctor.environment import Environment\n{source}\n")
    done = subprocess.run([*BARE, "some folder", "missing.py", *arguments], cwd=copied, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert message in done.stderr


def test_it_imports_nothing_outside_the_standard_library():
    allowed = sys.stdlib_module_names | {"proctor"}
    for file in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
                assert not node.module.startswith("proctor") or node.module.startswith("proctor.environment"), file
            assert {name.split(".")[0] for name in names} <= allowed, file


def test_the_sdks_own_import_of_environment_works_there_too(copied):
    (copied / "env.py").write_text((copied / "env.py").read_text().replace("from proctor.environment import", "from proctor import"))
    with serving([*BARE, str(copied / "some folder"), "env.py"], copied) as port:
        solve_first_problem(port)

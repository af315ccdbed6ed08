"""Run with the real SDK's Python: uploads sets of 1 KB tasks under fresh names; prints the seconds of each.

The argument is JSON: `{"url", "rows": FILE, "names": [...]}`; the file holds a JSON list of rows as the SDK's `Task` takes them.
"""

import json
import sys
import time
from pathlib import Path

from hud.eval import Task
from hud.eval.sync import upload_taskset
from hud.settings import settings
from hud.utils.platform import PlatformClient

asked = json.loads(sys.argv[1])
settings.hud_api_url = asked["url"]
tasks = [Task.model_validate(row) for row in json.loads(Path(asked["rows"]).read_text())]
seconds = []
for name in asked["names"]:
    started = time.perf_counter()
    done = upload_taskset(PlatformClient.from_settings(), name, tasks)
    seconds.append(time.perf_counter() - started)
    assert done["tasks_created"] == len(tasks), done
print(json.dumps(seconds))

"""Run with the real SDK's Python: `Taskset.from_api(name)` from several addresses in turn; prints the seconds of each.

The argument is JSON: `{"urls": {label: url}, "name", "repeat"}`.
"""

import json
import sys
import time

from hud.eval import Taskset
from hud.settings import settings

asked = json.loads(sys.argv[1])
seconds = {label: [] for label in asked["urls"]}
for turn in range(asked["repeat"] + 1):
    for label, url in asked["urls"].items():
        settings.hud_api_url = url
        started = time.perf_counter()
        taskset = Taskset.from_api(asked["name"])
        if turn:
            seconds[label].append(time.perf_counter() - started)
        assert len(taskset) == asked["tasks"], len(taskset)
print(json.dumps(seconds))

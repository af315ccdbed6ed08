"""Tasks and tasksets: read from files, modules and the server; compared, filtered, written and uploaded. Digits and key order are kept.

What each module hides: `task` the exact text, `reading` the file formats, `modules` importing people's Python, `remote` the
exchanges with the server. Imports no Django.
"""

from proctor.tasks.compare import TaskChange, TasksetDiff
from proctor.tasks.task import Task
from proctor.tasks.taskset import Origin, Taskset

__all__ = ["Origin", "Task", "TaskChange", "Taskset", "TasksetDiff"]

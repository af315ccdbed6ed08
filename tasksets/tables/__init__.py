"""The table of a version's tasks: sorted, filtered, searched and counted, the same for the head and for any old version.

`columns` and `asking` are pure. `blocks` keeps what the table needs beside the chunks that versions share, so that a new version
costs what changed; `pieces` holds what was worked out, within a limit of bytes; `reading` answers from both.
"""

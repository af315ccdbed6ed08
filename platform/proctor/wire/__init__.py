"""Every JSON shape that crosses a process boundary, as pydantic models; TypeScript is generated from them.

Task content (`args`, `columns`, …) never passes through these models as parsed JSON on the HUD surface: there it
stays text (`proctor.content`). The native API carries it as `RawJson`, a string that holds JSON.
"""

"""HUD's own agents (`claude`, `openai`, `gemini`, `claude_cli`, `codex_cli`), run by the real package in a child process.

`hosts.HudHosts` keeps the child alive, `agent.HostedAgent` is one of its rollouts as an agent of our engine, `child` is what runs there.
Nothing here imports `hud`.
"""

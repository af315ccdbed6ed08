"""Runtime sessions (contracts: 2.11): the agent loop is at the client, the environment in a sandbox here, bytes go through tunnels.

The web process takes the order (`actions`, `hud`) and relays websockets (`tunnels`); a worker starts the sandbox (`claims`, `keeper`) and
takes the tunnels' bytes on a port of its own (`relay`). So the web process opens neither the engine nor a sandbox's network.
"""

"""How a rollout talks to a started environment: one contract (`base`), one module per protocol."""

# Every target first makes .venv (and what else it needs). Progress goes to stderr; stdout carries results alone.
# README.md has the two commands for a newcomer, CONTRIBUTING.md the rest. Variables: docs/reference/settings.md.
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
PYTHON_RUN := .venv/bin/python

.PHONY: help run test check fix bench page gsm8k hud-agents

help:
	@echo 'make run | test | check | fix | bench | page | gsm8k | hud-agents   (README.md, CONTRIBUTING.md)'
run:
	@scripts/venv && scripts/page --if-possible && exec $(PYTHON_RUN) manage.py up
test:
	@scripts/venv && exec $(PYTHON_RUN) -m pytest -n 2 -m "$$(cat tests/default.marks)" $(ARGS)
check:
	@scripts/venv && scripts/page --packages --if-possible && exec scripts/check
fix:
	@scripts/venv && scripts/page --packages --if-possible && exec scripts/fix
bench:
	@scripts/venv && $(PYTHON_RUN) -m pip install --quiet --disable-pip-version-check -c requirements.lock -r bench/requirements.txt >&2 && exec $(PYTHON_RUN) -m bench
page:
	@scripts/page
gsm8k:
	@scripts/venv && exec $(PYTHON_RUN) scripts/gsm8k.py
hud-agents:
	@scripts/hud-agents

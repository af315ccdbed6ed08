"""Environments of HUD 0.2.x: an image with a `hud_controller` package whose functions set up, step and evaluate.

Facts of that contract (0.2.1 and 0.2.10 differ in places) were taken from the published packages and from running them.
"""

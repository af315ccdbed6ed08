"""Environments: what tasks run in. Registered images and build contexts, their versions, and how a version is made ready."""

"""Scenarios: manifests that ship with karpy, and a script that lets something happen to them."""

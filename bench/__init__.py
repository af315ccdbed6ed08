"""`make bench`: the product beside its physical floors, in one run on one machine. See docs/reference/performance.md."""

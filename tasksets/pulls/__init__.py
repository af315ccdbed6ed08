"""Tasksets from another Proctor by reference: fetched over its REST, checked against their digest, committed like an import."""

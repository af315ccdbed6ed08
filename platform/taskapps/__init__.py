"""Task Apps at the edge: others' apps registered and their tasks pulled; tasksets of ours served as Task Apps, with keys of their own."""

"""A version as a file: writers that give it block by block, and what each format can't carry. The readers are `proctor.formats`."""

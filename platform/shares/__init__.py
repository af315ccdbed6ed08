"""Public read-only links: made, listed, revoked and looked up here; what a link shows, the room that owns it registers (`shares.kinds`)."""

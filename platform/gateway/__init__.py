"""Model endpoints: where a model name is served and with which key, and the calls that pass through to them."""

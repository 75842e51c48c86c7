"""Monitor: what an upload says about whether its sender has trained."""

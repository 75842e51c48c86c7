"""What runs on a client's machine: its node, its app, its rows and its memory."""

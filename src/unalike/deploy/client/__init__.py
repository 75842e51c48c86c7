"""The client's side of a deployment: node, app, rows and client state."""

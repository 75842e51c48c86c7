"""What a checkout has beside the package itself."""

"""`python -m unalike` is the command line."""

from .cli import main

main()

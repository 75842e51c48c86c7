"""The commands of `unalike`, one file each."""

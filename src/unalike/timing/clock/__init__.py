"""The simulated clock: hardware, networks, measured times and jobs in progress."""

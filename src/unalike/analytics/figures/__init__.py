"""What does an analysis look like?  (Figures of estimates, of clients, and of processes.)"""

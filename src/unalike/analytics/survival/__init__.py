"""When does an event come, and for whom earlier?  (Survival analysis over clients.)"""

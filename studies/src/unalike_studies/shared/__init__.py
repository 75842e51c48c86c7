"""What do several studies share?  (Summaries of runs, and races of personal methods on real data.)"""

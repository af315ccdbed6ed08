"""What happened: jobs, runs, attempts, spans; the scheduler and the worker that make runs happen."""

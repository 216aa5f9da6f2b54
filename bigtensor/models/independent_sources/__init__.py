"""Parts of all models of independent sources: sample, cumulant, passes, faults and sections."""

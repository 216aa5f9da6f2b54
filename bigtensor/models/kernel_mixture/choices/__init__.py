"""What a fit of a kernel mixture chooses from the data: bandwidths, counts, populations, starts."""

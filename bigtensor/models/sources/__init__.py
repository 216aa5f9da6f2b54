"""Models of rows as linear mixtures of sources: ICA, SparseICA and KernelICA."""

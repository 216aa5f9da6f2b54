"""The nonparametric multi-view mixture: estimator, its script of passes, and what it solves."""

from bigtensor.models.kernel_mixture.estimator import KernelMixture as KernelMixture

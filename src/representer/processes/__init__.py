"""Gaussian-process models: likelihood, posterior, Laplace, variational and latent variables."""

"""Solvers: each takes a problem and returns a result with a certificate."""

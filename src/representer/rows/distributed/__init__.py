"""Rows on Dask: the partitions of a collection, pure tasks on them, and lazily computed predictions."""

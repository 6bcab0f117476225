"""Rows on Dask: the partitions of a collection, pure tasks on them, and answers that are computed when asked for."""

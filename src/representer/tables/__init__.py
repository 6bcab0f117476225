"""From a table to an honest, explained model.

`outcome` is what a fit found, `reading` and `column_types` turn a file or a frame into typed columns, `table_model` is
what is saved, and `fit_table` runs all of it. Explanations and the report live in this package as well, since a fit
displays itself. `io` comes after it, so that model files may hold a `TableModel`.
"""

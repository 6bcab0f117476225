"""Many cases in one test: collecting and reporting a test takes longer than most cases do."""

import copy
import functools
import inspect


def each(names, values):
    """A decorator: run a test for each value of an argument, or tuple of values of several, as one test.

    It takes what `pytest.mark.parametrize` takes. Random numbers of the fixture ``rng`` begin anew in each case, and an
    error has a note that says which case it was.
    """
    alone = isinstance(names, str) and "," not in names
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    cases = [dict(zip(names, (value,) if alone else value, strict=True)) for value in values]
    if not cases:
        raise ValueError(f"there is no case of {names}: a test of nothing passes always")

    def decorate(test):
        @functools.wraps(test)
        def run(**fixtures):
            for case in cases:
                fresh = {name: copy.deepcopy(value) if name == "rng" else value for name, value in fixtures.items()}
                try:
                    test(**fresh, **case)
                except Exception as error:
                    error.add_note(f"This was the case {case}.")
                    raise

        signature = inspect.signature(test)
        rest = [each for name, each in signature.parameters.items() if name not in names]
        run.__signature__ = signature.replace(parameters=rest)
        return run

    return decorate

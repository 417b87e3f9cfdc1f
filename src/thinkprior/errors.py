"""Errors that a user can mend."""


class InputError(ValueError):
    """Input that a run cannot use: a configuration, a data file, a prior, an artifact.

    The message names the file, the key or the id, and what to do about it. Scripts print it without
    a traceback, since the fault is not in the code.
    """

"""How long it takes from a call to its first record, cold and warm.

The same as `gristmill bench startup`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("startup")

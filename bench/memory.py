"""How much memory jobs take: maps, runs and streams, over time, against the limit that was asked for.

The same as `gristmill bench memory`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("memory")

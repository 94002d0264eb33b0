"""The engine against the loop that one would write by hand, on the same input and plugin.

The same as `gristmill bench ideal`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("ideal")

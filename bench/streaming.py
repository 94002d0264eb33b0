"""Streams against files: what reading a pipe costs, and taking results while workers run.

The same as `gristmill bench streaming`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("streaming")

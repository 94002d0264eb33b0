"""What several logical nodes cost on one socket, where they can gain nothing.

The same as `gristmill bench numa_overhead`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("numa_overhead")

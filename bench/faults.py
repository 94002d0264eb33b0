"""What faults cost: workers that die, records that fail, one that kills whoever touches it, one that hangs.

The same as `gristmill bench faults`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("faults")

"""Python functions: gristmill against the executors of the standard library, on the same function.

The same as `gristmill bench udf`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("udf")

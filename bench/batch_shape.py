"""What batches of a fixed number of records cost, against batches that adapt themselves.

The same as `gristmill bench batch_shape`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("batch_shape")

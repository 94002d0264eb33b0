"""The published totals of the record sets, through generator, plugin and engine.

The same as `gristmill bench totals`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("totals")

"""Two results side by side: ratios, and exit code 1 when any became worse.

The same as `gristmill bench compare`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("compare")

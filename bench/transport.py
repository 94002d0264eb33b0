"""Round trips of one message to another process and back, by several ways.

The same as `gristmill bench transport`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("transport", beside_others=True)

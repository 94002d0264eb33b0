"""What it costs to bring objects to workers and back, by codec.

The same as `gristmill bench codecs`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("codecs", beside_others=True)

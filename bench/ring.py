"""The batch ring alone: publish, claim, done and retire, with up to 64 claimers on however many cores.

The same as `gristmill bench ring`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("ring")

"""What more workers bring, and how much of what the machine allows.

The same as `gristmill bench scaling`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("scaling")

"""The kernels of the bundled payloads and the generator, without an engine around them.

The same as `gristmill bench kernels`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("kernels")

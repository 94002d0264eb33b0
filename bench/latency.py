"""How long small things take: a call of a kept engine, a cold start, a push of 8 bytes into a stream.

The same as `gristmill bench latency`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("latency")

"""What a record costs by its length: gristmill's identity, beside the sockets of libzmq.

The same as `gristmill bench record_size`; --help has the options.
"""

from door import enter

if __name__ == "__main__":
    enter("record_size", beside_others=True)

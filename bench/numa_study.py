"""The study: records/s of every payload for each node configuration, against other systems.

    .venv/bin/python bench/numa_study.py [--quick] [--tmpdir DIR] [--html PATH] ...

The same as `gristmill study`, with the peers of this folder; --help has the options, and schema.md in
gristmill.bench says what stands in the files that it writes.
"""

from door import enter

if __name__ == "__main__":
    enter("study")

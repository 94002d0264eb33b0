"""The Python function as a filter: twin_filter.py SET [VOCABULARY] < lines > lines."""

from __future__ import annotations

import sys

from gristmill.bench import twins


def main() -> None:
    function = twins.twin(sys.argv[1], *sys.argv[2:3])
    results = [function(line.rstrip(b"\n")) for line in sys.stdin.buffer]
    if results:
        sys.stdout.buffer.write(b"\n".join(results) + b"\n")


if __name__ == "__main__":
    main()

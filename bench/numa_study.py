"""The study: records/s of every payload for each node configuration, against other systems.

    .venv/bin/python bench/numa_study.py [--quick] [--tmpdir DIR] [--html PATH] ...

`gristmill study` with the peers of this folder; --help has the options, and schema.md in
gristmill.bench says what stands in the files that it writes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gristmill.bench import arguments, study
from gristmill.errors import GristmillError

HERE = Path(__file__).resolve().parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_to(parser)
    parser.set_defaults(peers_folder=HERE / "peers")
    peers_python = HERE.parent / ".venv-peers" / "bin" / "python"
    if peers_python.exists():
        parser.set_defaults(peers_python=str(peers_python))
    try:
        return study.run(parser.parse_args(), HERE)
    except (GristmillError, OSError) as error:
        print(f"numa_study: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("numa_study: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

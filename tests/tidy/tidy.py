#!/usr/bin/env python3
"""Checks the house rules over every file git knows or would add. Exits 1 when one is broken."""

import argparse
import subprocess
import sys
from pathlib import Path

import engine_rules
import file_rules
from tree import File, Finding, Rule, Tree

HERE = Path(__file__).resolve().parent

RULES: list[Rule] = [
    engine_rules.include_arrows,
    engine_rules.kernel_headers,
    engine_rules.memory_orders,
    engine_rules.shared_ownership,
    engine_rules.sleeps,
    engine_rules.printing,
    file_rules.file_length,
    file_rules.function_length,
    file_rules.syntax,
    file_rules.banned_names,
    file_rules.leftovers,
    file_rules.machine_paths,
]


def read_tree(root: Path) -> Tree:
    # A clone may belong to another user than the one who checks it; this only reads names.
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"],
        check=True,
        capture_output=True,
    )
    files, paths = [], set()
    for name in sorted(set(listed.stdout.decode("utf-8", "surrogateescape").split("\0"))):
        path = root / name
        if not name or path.is_symlink() or not path.is_file():
            continue  # deleted but not yet committed, or a link to a file that is looked at anyway
        paths.add(name)
        content = path.read_bytes()
        if b"\0" not in content[:8192]:
            files.append(File(name, content.decode("utf-8", "replace")))
    return Tree(files, paths, str(root.resolve()))


def findings(root: Path) -> list[Finding]:
    tree = read_tree(root)
    return sorted(finding for rule in RULES for finding in rule(tree))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=HERE.parent.parent, help="the clone to check")
    found = findings(parser.parse_args().root)
    broken = [finding for finding in found if finding.fatal]
    aims = [finding for finding in found if not finding.fatal]
    for finding in aims + broken:
        print(finding)
    print(f"tidy: {len(broken)} rules broken, {len(aims)} lengths over the aim")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Rewrites paths and test names in SPECIFICATION.md and the documents after files moved or tests were renamed.

    scripts/move-promises.py MOVES [ROOT]
    scripts/move-promises.py --self-check

MOVES is a file with one move per line, two columns separated by a tab. Empty lines and lines with `#` are ignored.

    crates/plan/src            crates/campaign/src/plan              a file or a directory
    crates/a/src/b.rs::old     crates/a/src/c.rs::new                a test

The left column of a test is its reference before or after its file moved. The right column is never rewritten again, so
that two names can be swapped. Of several directories the longest applies. Prints the number of changes of each file.
"""

import re
import sys
from pathlib import Path

# A path from the root of the repository with at least one slash, and a test in it. Links of documents begin with `../`;
# paths in URLs are preceded by a character of the first group.
REFERENCE = re.compile(r"(?<![\w./:@-])((?:\.\./)*)((?:[\w.-]+/)+[\w.-]*)(?:::(\w+))?")


def parse(text):
    """Returns the moves of paths and of tests."""
    paths, tests = {}, {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 2 or not all(columns) or ("::" in columns[0]) != ("::" in columns[1]):
            sys.exit(f"line {number}: expected OLD<TAB>NEW, two paths or two tests: {line!r}")
        old, new = (column.strip().rstrip("/") for column in columns)
        moves = tests if "::" in old else paths
        if moves.setdefault(old, new) != new:
            sys.exit(f"line {number}: {old} has two new names")
    return paths, tests


def moved_path(path, paths):
    """Returns the new path of a file or directory; the longest match applies."""
    head, tail = path.rstrip("/"), path[len(path.rstrip("/")) :]
    while head:
        if head in paths:
            return paths[head] + tail
        head, slash, last = head.rpartition("/")
        tail = slash + last + tail
    return path


def rewrite(text, paths, tests):
    """Returns the text with all references moved, and the number of changes."""
    changes = 0

    def move(match):
        nonlocal changes
        up, named, test = match.groups()
        old = match[0][len(up) :]
        # A full stop at the end belongs to the sentence.
        path = named if test else named.rstrip(".")
        rest = "" if test else named[len(path) :]
        new = moved_path(path, paths)
        if test:
            # Swapped files: the name before the move only.
            by_new_name = moved_path(new, paths) == new and tests.get(f"{new}::{test}")
            new = tests.get(old) or by_new_name or f"{new}::{test}"
        new += rest
        changes += new != old
        return up + new

    return REFERENCE.sub(move, text), changes


def self_check():
    """Compares the result of each rule with the expected text."""
    paths, tests = parse(
        "# comment\n\n"
        "crates/plan/src\tcrates/campaign/src/plan\n"
        "crates/plan\tcrates/campaign\n"
        "crates/a/b.rs\tcrates/a/c.rs\n"
        "crates/a/c.rs\tcrates/a/b.rs\n"
        "crates/a/b.rs::old\tcrates/a/c.rs::new\n"
        "crates/campaign/src/plan/x.rs::early\tcrates/campaign/src/plan/x.rs::late\n"
        "tests/t.rs::one\ttests/t.rs::two\n"
        "tests/t.rs::two\ttests/t.rs::one\n"
    )
    cases = {
        "| P1 | a | `crates/plan/src/x.rs::same` |": "| P1 | a | `crates/campaign/src/plan/x.rs::same` |",
        "`crates/plan/src/x.rs::early`": "`crates/campaign/src/plan/x.rs::late`",
        "`crates/plan/tests/t.rs::same`": "`crates/campaign/tests/t.rs::same`",
        "`crates/a/b.rs::old`, `crates/a/c.rs::old`": "`crates/a/c.rs::new`, `crates/a/b.rs::old`",
        "`tests/t.rs::one`, `tests/t.rs::two`": "`tests/t.rs::two`, `tests/t.rs::one`",
        "`tests/t.rs::one_more`": "`tests/t.rs::one_more`",
        "See crates/plan/src/ and crates/plan.": "See crates/campaign/src/plan/ and crates/campaign.",
        "`crates/plan2/src/x.rs`": "`crates/plan2/src/x.rs`",
        "https://example.org/crates/plan": "https://example.org/crates/plan",
        "[x](../crates/plan/src/x.rs)": "[x](../crates/campaign/src/plan/x.rs)",
        "[x](crates/a/b.rs)": "[x](crates/a/c.rs)",
    }
    for text, expected in cases.items():
        found, _ = rewrite(text, paths, tests)
        assert found == expected, f"{text!r} became {found!r}"
    print(f"{len(cases)} cases are right")


def main():
    if sys.argv[1:] == ["--self-check"]:
        return self_check()
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    paths, tests = parse(Path(sys.argv[1]).read_text())
    root = Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).resolve().parent.parent
    documents = [root / "SPECIFICATION.md", root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    for document in documents:
        text = document.read_text()
        new, changes = rewrite(text, paths, tests)
        if changes:
            document.write_text(new)
            print(f"{document.relative_to(root)}: {changes}")


if __name__ == "__main__":
    main()

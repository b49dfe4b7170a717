#!/usr/bin/env python3
"""Checks the documents and the site that `make docs` builds from them. Prints each fault and exits with 1.

    scripts/check-docs.py              the sources: docs/*.md and the documents above it
    scripts/check-docs.py DIRECTORY    a built site

Sources: docs/SUMMARY.md lists each document once. Each relative link leads to a file, and its fragment to a heading,
by the rules of GitHub. No link leaves docs/, because the site contains no other files. Site: each link leads to a
file of the site and to an element of it.
"""

import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SUMMARY = ROOT / "docs/SUMMARY.md"
FENCE = re.compile(r"^(```+)[^\n]*\n.*?^\1 *$", re.M | re.S)
CODE = re.compile(r"`+[^`]*`+")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def headings(text):
    """Returns the fragments of the headings and anchors of a document."""
    found, counts = set(re.findall(r'<a id="([^"]+)">', text)), Counter()
    for title in re.findall(r"^#+ +(.*?) *$", FENCE.sub("", text), re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        name = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        found.add(f"{name}-{counts[name]}" if counts[name] else name)
        counts[name] += 1
    return found


def links(text):
    """Returns the links of a document with their line numbers."""
    # Code keeps its lines, so that the numbers are right.
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    text = CODE.sub(blank, FENCE.sub(blank, text))
    return [(match[1], text.count("\n", 0, match.start()) + 1) for match in LINK.finditer(text)]


def check_sources():
    """Yields the faults of the documents."""
    chapters = Counter((SUMMARY.parent / link).resolve() for link, _ in links(SUMMARY.read_text()))
    documents = set((ROOT / "docs").rglob("*.md")) - {SUMMARY}
    for path in sorted(documents | set(chapters)):
        if chapters[path] != 1:
            yield f"docs/SUMMARY.md lists {path.relative_to(ROOT)} {chapters[path]} times, not once"
    for document in sorted(documents | set(ROOT.glob("*.md")) | {SUMMARY}):
        for link, line in links(document.read_text()):
            parts = urlsplit(link)
            if parts.scheme:
                continue
            place = f"{document.relative_to(ROOT)}:{line}: {link}"
            target = (document.parent / parts.path).resolve() if parts.path else document
            if not target.exists():
                yield f"{place}: no such file"
            elif SUMMARY.parent in document.parents and SUMMARY.parent not in target.parents:
                yield f"{place}: leaves docs/; write the path as code"
            elif parts.fragment and parts.fragment not in headings(target.read_text()):
                yield f"{place}: no such heading"


class Page(HTMLParser):
    """Links and identifiers of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = set(), set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value and tag != "base":
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.ids.add(value)


def check_site(directory):
    """Yields the faults of a built site."""
    pages = {path: Page(path) for path in sorted(directory.rglob("*.html"))}
    if not pages:
        yield f"{directory} has no pages"
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            # 404.html is served for any path, so its links begin at the root of the site.
            base = directory if parts.path.startswith("/") else path.parent
            target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path}: {link}: no such file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{path}: {link}: no such element"


def main():
    faults = list(check_site(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else check_sources())
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

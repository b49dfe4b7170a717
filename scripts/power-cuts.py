#!/usr/bin/env python3
"""Writes the losses in power cuts of a campaign into catalog/filesystems.

Reads the JSON report of a campaign of the suite `survival` from standard input, and replaces the
key `power_cuts` in the file of each filesystem that it measured with default options.
"""

import json
import re
import sys
from datetime import datetime, timezone
from pathlib import Path

KEY = "power_cuts"


def evidence(report):
    """Yields filesystems and the text of their keys."""
    results = report["results"]
    guest = results["campaign"]["guest"]
    disk = guest["disk"]["model"]["name"]
    date = datetime.fromtimestamp(results["started"] // 10**9, timezone.utc).date()
    source = f"suite survival, Linux {guest['kernel']}, disk {disk}, {date}"
    for contender in report["analysis"]["features"]:
        cuts = contender.get(KEY)
        # Options follow a colon in the name.
        if cuts is None or cuts.get("shipped") or ":" in contender["contender"]:
            continue
        parts = [f"cuts = {cuts['cuts']}", f"lost = {cuts['lost']}"]
        if cuts["worst"]:
            parts.append(f"worst = {json.dumps(cuts['worst'])}")
        parts.append(f"source = {json.dumps(source)}")
        yield contender["contender"], f"{KEY} = {{ {', '.join(parts)} }}\n"


def main():
    folder = Path(__file__).resolve().parent.parent / "catalog" / "filesystems"
    for name, line in evidence(json.load(sys.stdin)):
        path = folder / f"{name}.toml"
        text = re.sub(rf"^{KEY} = .*\n", "", path.read_text(), flags=re.MULTILINE)
        text, found = re.subn(r"^(crash_recovery = .*\n)", lambda at: at[1] + line, text, flags=re.MULTILINE)
        if found != 1:
            sys.exit(f"cannot write {path}: it has no line `crash_recovery = …` to follow")
        path.write_text(text)
        print(f"{name}: {line}", end="")


main()

#!/usr/bin/env python3
"""Compares filesystems on several of Debian's kernels in virtual time, and writes tables into a document.

Usage: kernel-changes.py FSARENA DATABASE DOCUMENT

Campaigns that are complete in the database are not run again. The tables replace what follows the
marker in the document.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

KERNELS = os.environ.get("KERNELS", "6.1 6.12 7.3").split()
FILESYSTEMS = ["ext4", "xfs", "btrfs", "f2fs"]
SUITES = ["tree", "small-files", "durable", "lifecycle", "bonnie", "survival"]
MARKER = "<!-- The rest is made by `make kernel-changes`. -->\n"
# Largest differences of a filesystem that are listed, for each direction.
LISTED = 4


class Fsarena:
    def __init__(self, program, database):
        self.start = [program, "--db", database]

    def text(self, *words, errors=None):
        return subprocess.run([*self.start, *words], check=True, stdout=subprocess.PIPE, stderr=errors, text=True).stdout

    def campaign(self, kernel):
        """Returns the JSON report of the campaign on a kernel, which is run if it does not exist."""
        name = f"linux-{kernel}"
        try:
            return json.loads(self.text("report", name, "--format", "json", errors=subprocess.DEVNULL))
        except subprocess.CalledProcessError:
            pass
        words = [word for filesystem in FILESYSTEMS for word in ("-c", filesystem)]
        words += [word for suite in SUITES for word in ("-s", suite)]
        self.text("run", "--backend", "vm", "--guest-kernel", kernel, "--name", name, "--profile", "quick",
                  "--rounds", "1", "--quiet", *words)
        return json.loads(self.text("report", name, "--format", "json"))

    def compare(self, before, after):
        compared = subprocess.run([*self.start, "compare", f"linux-{before}", f"linux-{after}", "--json"],
                                  stdout=subprocess.PIPE, text=True)
        return json.loads(compared.stdout)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| :-- " + "| --: " * (len(head) - 1) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def cost(ratio):
    if ratio >= 1.995:
        return f"{ratio:.2f} times as much"
    return f"{abs(ratio - 1) * 100:.0f} % {'more' if ratio >= 1 else 'less'}"


def overall(comparisons):
    rows = []
    for name in FILESYSTEMS:
        row = [name]
        for comparison in comparisons:
            found = [one for one in comparison["differences"]["overall"] if one["contender"] == name]
            row.append(cost(found[0]["cost"]["ratio"]) if found else "")
        rows.append(row)
    return rows


def largest(comparison):
    changes = comparison["differences"]["changes"]
    rows = []
    for name in FILESYSTEMS:
        # Losses have a table.
        own = [one for one in changes if one["contender"] == name and one["suite"] != "survival"]
        own = [one for one in own if abs(one["compared"]["ratio"] - 1) > comparison["differences"]["margin"]]
        own.sort(key=lambda one: one["compared"]["ratio"])
        better = [one for one in own if one["compared"]["ratio"] < 1][:LISTED]
        worse = [one for one in own[::-1] if one["compared"]["ratio"] > 1][:LISTED]
        for one in worse + better:
            result = f"{one['test']}/{one['phase']}"
            rows.append([name, result, one["metric"], cost(one["compared"]["ratio"])])
    return rows


def probed(report, name):
    """Returns the features and power cuts of a filesystem."""
    return next((one for one in report["analysis"]["features"] if one["contender"] == name), {})


def survival(reports):
    rows = []
    for name in FILESYSTEMS:
        row = [name]
        for report in reports:
            cuts = probed(report, name).get("power_cuts")
            row.append(f"{cuts['lost']} of {cuts['cuts']}" if cuts and not cuts.get("shipped") else "")
        rows.append(row)
    return rows


def features(reports):
    rows = []
    for name in FILESYSTEMS:
        found = [{one["feature"]: one["found"] for one in probed(report, name).get("features", [])}
                 for report in reports]
        for feature in found[0]:
            values = [json.dumps(one.get(feature)).strip('"') for one in found]
            if len(set(values)) > 1:
                rows.append([name, feature, *values])
    return rows


def failures(reports):
    rows = []
    for kernel, report in zip(KERNELS, reports):
        for cell in report["results"]["cells"]:
            result = cell.get("result") or {}
            if result.get("status") not in ("ok", "unsupported"):
                where = f"{cell['cell']['contender']}, {cell['cell']['test']}"
                rows.append([f"{where}, Linux {kernel}", str(result.get("status"))])
    return rows


def main():
    program, database, document = sys.argv[1:]
    fsarena = Fsarena(program, database)
    reports = [fsarena.campaign(kernel) for kernel in KERNELS]
    first, last = KERNELS[0], KERNELS[-1]
    comparisons = [fsarena.compare(first, kernel) for kernel in KERNELS[1:]]
    releases = [report["results"]["campaign"]["guest"]["kernel"] for report in reports]
    lines = ["Kernels: " + ", ".join(releases) + ".", "", f"## Cost against Linux {first}", ""]
    lines += table(["filesystem", *(f"Linux {kernel}" for kernel in KERNELS[1:])], overall(comparisons))
    lines += [f"## Largest changes from Linux {first} to {last}", ""]
    lines += table(["filesystem", "result", "metric", "cost"], largest(comparisons[-1]))
    lines += ["## Power cuts with a loss", ""]
    lines += table(["filesystem", *(f"Linux {kernel}" for kernel in KERNELS)], survival(reports))
    for title, head, rows in [
        ("Features that differ", ["filesystem", "feature", *(f"Linux {kernel}" for kernel in KERNELS)], features(reports)),
        ("Failures", ["test", "status"], failures(reports)),
    ]:
        lines += [f"## {title}", ""] + (table(head, rows) if rows else ["None.", ""])
    path = Path(document)
    text = path.read_text().split(MARKER)[0] + MARKER + "\n" + "\n".join(lines).rstrip() + "\n"
    path.write_text(text)


main()

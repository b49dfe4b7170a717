#!/usr/bin/env python3
"""Counts wording that is hard to read; docs/contributing.md has the rules.

Usage: prose_lint.py ROOT [--worst N] [--rules] [--only PATH-PREFIX] [--max SCORE] [--max-part SCORE]

Reads doc comments, comments and string literals of *.rs, all of *.md and *.rst outside code
fences, comments and texts of catalog *.toml, and the text of *.html. A prose line has at least three
words (a string literal: four). The score is hits per 1000 prose lines; a line counts each rule once.
"""
import argparse, os, re, sys
from collections import Counter

SKIP = {".git", "target", "node_modules", "vendor", "data", "golden", "snapshots", "corpus", "migrations"}
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|\'(?:\\.|[^\\\'\n])\'', re.S)
WORD = re.compile(r"[A-Za-z][A-Za-z'’]+")
NOT_NOUN = r"(?<!cases )(?<!case )(?<!situation )(?<!situations )(?<!context )(?<!environments )(?<!scenario )(?<!systems )(?<!places )(?<!of )"
# Rule: (pattern, whether it counts only at the beginning of a comment). Commonest first.
RULES = {
    "what-clause": (r"(?<!\w )^(?:What|Who|Whose|Whom)\b(?!.*\?)(?! is (?:a|an|the)\b)|\b(?:of|by|from|with|to|for|in|on|at|after|beside|but|and|or|all|is|was|than|as|says|takes) what(?= (?!if\b|we\b|you\b))|\b[Oo]f (?:which|whom|whose)\b", False),
    "where-condition": (NOT_NOUN + r"\b(?:[Ww]here|[Ww]herever) (?:it|its|there|they|that|this|these|those|no|none|nothing|nobody|one|some|somebody|something|any|anything|a|an|both|all|each|not|so)\b(?!.*\?)|\b(?:None`?|nothing|none|and|but|each|only|except|also) where\b", False),
    "says-tells": (r"(?<!it )(?<!docs )(?<!error message )\b(?:says|tells|told|is said|was said|be said|said of|says so|saying)\b(?! us\b)|^(?:Says|Tells)\b|\b(?:calls|called) so\b", False),
    "pronoun-thing": (r"\bthings?\b(?= (?:that|of|is|are|which|with)\b)|\b(?:something|anything|everything|nothing) (?:of|is|was|that|has|for|where|but)\b|\b(?:one|ones|those|that|what) (?:that|which) (?:is|are|was|were|has|have|came|come|it|they)\b|\bwhatever\b", False),
    "fragment-start": (r"^(?:The same\b(?! (?:as|for|goes)\b)|Those (?:of|that|whose|in)\b|That (?:of|which)\b|All (?:of them|of it|that)\b|Everything that\b|One (?:of|that|which)\b|Its\b|Each (?:once|with)\b|Of (?:a|an|the|each|all|what|one|some|two|those)\b|But\b(?! (?:for|when|if|we|the|since)\b)|Some (?:of|that)\b|Nothing (?:yet|of|that)\b|Another\b|By (?:what|which|how)\b|In which\b|How (?:far|long|often|many|much|large|full)\b)", True),
    "phrasal": (r"\b(?:[Tt]akes?|[Tt]aken|[Tt]ook) (?:in|down|note|part|apart|back|for)\b(?! (?:account|to|by|granted)\b)|\b(?:[Gg]ives?|[Gg]iven|[Gg]ave) (?:out|back|away)\b|\b(?:[Ll]ets?) (?:go|it go|that)\b|\b(?:[Gg]oes|[Gg]o|[Ww]ent|[Gg]oing) on\b|\b(?:writes?|written) down\b|\bhand(?:s|ed)? over\b|\bputs? (?:together|apart|aside)\b|\bset apart\b|\b(?:left|leaves?) out\b|\bbr(?:ings?|ought) (?:it|them|what|about)\b|\bis brought\b|\basked for\b", False),
    "people": (r"\b(?:[Nn]obody|[Ss]omebody|[Ee]verybody|[Aa]nybody|[Ww]hoever|[Ww]homever)\b|\b(?:those|others|contenders?|filesystems?|the last|the first|one) who\b", False),
    "lie-stand": (r"\b(?:lies|lie|lay|lain)\b(?! (?:down|about|outside|within|beyond|between|ahead))|\b(?:stands|stand|stood)(?! (?:for|out|up|alone|in|by)\b)\b|\b(?:stands|stand) (?:in|alone) (?:the|its|a)\b", False),
    "beside-behind": (r"\b[Bb]eside\b|\bbehind (?:it|its|them|the|a|each|all|every|one|another|others|that|this|what|which)\b(?! scenes)", False),
    "then-and-now": (r"\b(?:is|are) over\b|\bby (?:then|now)\b|\bmeanwhile\b|\banew\b|\b(?:no|any) more\b(?= *[.,;])|\bfrom now on\b|\bin the (?:place|words) of\b|\bwith it\b(?=[.,;])|\bas (?:it|they) (?:was|were|had)\b|\balone\b(?=[.,;:)]| (?:is|are|was|by|for|of)\b)", False),
    "is-there": (r"(?<![Hh]ow many )\b(?:is|are|was|were|be|lies|still) there\b(?! (?:a|an|any|no|some|are|is|anything|already a|more|other|something|exactly)\b)(?!.*\?)|\bthere is (?:none|one|nothing)\b(?! (?:other|else|we|in)\b)", False),
    "own": (r"\bof (?:its|their|his|one's|the user's|our|fsarena's|a user's|the program's|the campaign's|the cell's|the kernel's) own\b|\bof (?:ours|theirs|yours|the user's|fsarena's|one's)\b(?! \w)|\b(?:are|is) (?:ours|theirs)\b", False),
    "so-many": (r"\b[Ss]o (?:many|few|often|large|small|long)\b(?! (?:as|that)\b)|\b[Ss]o much\b(?! (?:as|that|more|less|faster|better|easier|of)\b)|\bhow (?:much|many|far|often) (?:of|it|there)\b", False),
    "is-no": (r"\b(?:is|are|was|were|be) (?:no|none)\b(?! (?:longer|more|way|need|reason|guarantee|effect|such|support|point|idea|difference|problem|other|matter|default|impact|meaning|known|guarantees|one|plans?)\b)(?= [a-z]+ (?:of|that|which|to|and|but|with|by|for|at)\b|[,.;:]|$)|\b(?:[Tt]hat|[Ww]hich|but) (?:is|are) (?:no|none)\b(?! longer)", False),
    "become-of": (r"\b(?:came|comes|come) (?:of|to)\b(?! (?:mind|terms|light|life)\b)|\bbec(?:ame|omes|ome) of\b|\bcomes? about\b", False),
    "far-as": (r"\b(?:[Aa]s|[Ss]o) far as\b(?! we\b)|\b[Bb]ut for\b(?! the (?:purposes|single)\b)|\b[Ii]n spite of\b|\b[Aa]ll the same\b|\bat last\b|\beach once\b|\bonce each\b", False),
    "as-people": (r"\b(?:as|what|who|that) (?:one|people|nobody|somebody) (?:would|may|types?|knows?|calls?|has|had|does)\b|\b(?:for|of|to|by) people\b|\bin words\b|\bin (?:one|a) word\b|\bthe words? (?:of|for|by|in|that)\b", False),
    "is-to": (r"\b(?:is|are|was|were) to be\b(?! (?:able|clear|sure)\b)|\b(?:that|which|who|it|what|they) (?:is|are|was|were) to (?!be\b)[a-z]+\b", False),
}
COMPILED = {name: (re.compile(pattern), start) for name, (pattern, start) in RULES.items()}


def rust(text):
    """Line number, text, whether it is a string, whether a block begins here."""
    previous = -2
    for match in TOKEN.finditer(text):
        token, line = match.group(0), text.count("\n", 0, match.start()) + 1
        if token.startswith("//"):
            stripped = token.lstrip("/!").strip()
            yield line, stripped, False, previous != line - 1 or not stripped
            previous = line
        elif token.startswith("/*"):
            for offset, part in enumerate(token.split("\n")):
                yield line + offset, part.strip(" */"), False, offset == 0
        elif not token.startswith("'"):
            body = token[token.index('"') + 1 : token.rindex('"')].replace("\\\n", "\n")
            for offset, part in enumerate(body.split("\n")):
                yield line + offset, part.strip(), True, False


def units(path, text):
    if path.endswith(".rs"):
        yield from rust(text)
    elif path.endswith(".html"):
        text = re.sub(r"(?s)<(script|style).*?</\1>", lambda m: "\n" * m.group(0).count("\n"), text)
        for number, line in enumerate(text.split("\n"), 1):
            yield number, re.sub(r"<[^>]*>|\{[{%#].*?[}%#]\}", " ", line).strip(), False, False
    elif path.endswith(".toml"):
        for number, line in enumerate(text.split("\n"), 1):
            for match in re.finditer(r'"(?:\\.|[^"\\])*"|#.*', line):
                yield number, match.group(0).strip('#" '), False, False
    else:
        fenced = False
        for number, line in enumerate(text.split("\n"), 1):
            fenced ^= line.strip().startswith("```")
            if not fenced:
                yield number, line.strip(" #*->"), False, False


def wanted(path):
    name = os.path.basename(path)
    return (path.endswith((".rs", ".md", ".rst", ".html")) and not name.startswith(("LICENSE", "CHANGELOG"))
            or path.endswith(".toml") and "catalog/" in path)


def files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIP)
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if wanted(path):
                yield path


def part_of(path):
    parts = path.split("/")
    inner = parts[0] in ("crates", "src") and len(parts) > 2
    return "/".join(parts[:2]) if inner else parts[0] if len(parts) > 1 else "(top)"


def hits_of(text, is_string, begins):
    if len(WORD.findall(text)) < (4 if is_string else 3):
        return None
    return [name for name, (pattern, start) in COMPILED.items() if (begins or not start) and pattern.search(text)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root")
    parser.add_argument("--worst", type=int, default=0, help="show this many lines with the most hits")
    parser.add_argument("--rules", action="store_true", help="show the count of each rule")
    parser.add_argument("--only", default="", help="only files whose path begins with this")
    parser.add_argument("--max", type=float, help="exit with 1 above this score")
    parser.add_argument("--max-part", type=float, help="exit with 1 if a crate or folder is above this score")
    args = parser.parse_args()
    lines, hits, rules, found = Counter(), Counter(), Counter(), []
    for path in files(args.root):
        if not path.startswith(args.only):
            continue
        try:
            text = open(os.path.join(args.root, path), encoding="utf-8").read()
        except UnicodeDecodeError:
            continue
        for number, line, is_string, begins in units(path, text):
            names = hits_of(line, is_string, begins)
            if names is None:
                continue
            lines[part_of(path)] += 1
            hits[part_of(path)] += len(names)
            rules.update(names)
            if names:
                found.append((-len(names), path, number, line, names))
    total, all_hits = sum(lines.values()), sum(hits.values())
    score = 1000 * all_hits / max(total, 1)
    print(f"{score:7.1f} hits per 1000 lines, {len(found)} of {total} prose lines have a hit ({100 * len(found) / max(total, 1):.0f} %)")
    for part in sorted(lines, key=lambda p: (-hits[p] / lines[p], p)):
        print(f"{1000 * hits[part] / lines[part]:7.1f} {lines[part]:6} lines  {part}")
    if args.rules:
        for name in RULES:
            print(f"{rules[name]:6} {1000 * rules[name] / max(total, 1):7.1f}  {name}")
    for _, path, number, line, names in sorted(found)[: args.worst]:
        print(f"{path}:{number}: {line}  [{', '.join(names)}]")
    over = [p for p in lines if args.max_part is not None and 1000 * hits[p] / lines[p] > args.max_part]
    for part in over:
        print(f"{part} is above {args.max_part:g} hits per 1000 lines; show them with --only {part} --worst 20", file=sys.stderr)
    if args.max is not None and score > args.max:
        print(f"the repository is above {args.max:g} hits per 1000 lines; show them with --worst 20", file=sys.stderr)
        return 1
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())

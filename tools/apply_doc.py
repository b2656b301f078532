#!/usr/bin/env python3
# tools/apply_doc.py -- applies the code blocks of a page to copies of the files that they change: apply_doc.py <page> <source folder> <output folder>.
"""A fenced block whose first line is `// <path> -- ...` is that whole file. A block of the language `diff` changes one file: its first line is
`--- <path>`, a line that starts with a space must stand in the file exactly once (spaces around it do not count), and the lines with `+` after it are
inserted below it. The output folder gets every file under its own path. Every new .cpp must be named in the changed CMakeLists.txt.
Uses the standard library only."""

import os
import re
import sys


class Unfit(Exception):
    pass


def blocks(page):
    """(language, line number, lines) of the fenced blocks."""
    language, start, lines = None, 0, []
    with open(page, encoding="utf-8") as source:
        for number, line in enumerate(source.read().splitlines(), 1):
            if language is None and line.startswith("```"):
                language, start, lines = line[3:].strip(), number + 1, []
            elif line.startswith("```"):
                yield language, start, lines
                language = None
            elif language is not None:
                lines.append(line)
    if language is not None:
        raise Unfit(f"{page}:{start}: the block has no end")


def insert(path, text, changes, place):
    """The text with the lines of a diff block inserted."""
    lines = text.splitlines()
    at = None
    for change in changes:
        if change.startswith(" "):
            found = [i for i, line in enumerate(lines) if line.strip() == change.strip()]
            if len(found) != 1:
                raise Unfit(f"{place}: {path} has {len(found)} lines '{change.strip()}'; it must have one")
            at = found[0] + 1
        elif change.startswith("+"):
            if at is None:
                raise Unfit(f"{place}: a line of {path} must stand before '{change}'")
            if change[1:] in lines:
                raise Unfit(f"{place}: {path} already has the line '{change[1:].strip()}'")
            lines.insert(at, change[1:])
            at += 1
        else:
            raise Unfit(f"{place}: '{change}' starts neither with a space nor with +")
    return "\n".join(lines) + "\n"


def apply(page, root):
    """The files that the page makes and changes, as {path: text}."""
    made, changed = {}, {}
    for language, start, lines in blocks(page):
        place = f"{page}:{start}"
        whole = re.match(r"// (src/\S+) -- .+\.$", lines[0]) if lines else None
        if whole:
            path = whole.group(1)
            if os.path.exists(os.path.join(root, path)):
                raise Unfit(f"{place}: {path} is in the tree; the page must add a new op")
            made[path] = "\n".join(lines) + "\n"
        elif language == "diff":
            head = re.match(r"--- (\S+)$", lines[0]) if lines else None
            if not head:
                raise Unfit(f"{place}: the first line of a diff must be '--- <path>'")
            path = head.group(1)
            if path not in changed:
                with open(os.path.join(root, path), encoding="utf-8") as source:
                    changed[path] = source.read()
            changed[path] = insert(path, changed[path], lines[1:], place)
    for path in made:
        name = path.removeprefix("src/resilin/ops/")
        if path.endswith(".cpp") and not re.search(rf"^  {re.escape(name)}$", changed.get("CMakeLists.txt", ""), re.MULTILINE):
            raise Unfit(f"{page}: no line of CMakeLists.txt names {name}")
    if not made or not changed:
        raise Unfit(f"{page}: {len(made)} files and {len(changed)} changes; both are needed")
    return made | changed


def main():
    if len(sys.argv) != 4:
        print("usage: apply_doc.py <page> <source folder> <output folder>", file=sys.stderr)
        return 2
    page, root, output = sys.argv[1:]
    try:
        for path, text in apply(page, root).items():
            target = os.path.join(output, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as sink:
                sink.write(text)
    except (Unfit, OSError) as reason:
        print(f"apply_doc.py: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# tools/check.py -- the yard's rules that a machine can judge: layers, lists, sizes, words, first lines, format.
"""Prints one line per finding and exits 1 when there is any. Uses the standard library only; at most 5 seconds."""

import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CODE = (".h", ".cpp")
SCRIPT = (".py", ".cmake", ".sh")
SKIPPED = {".git", "build", "__pycache__", ".cache"}
MOST_TEST_PROGRAMS = 13
LONGEST_FUNCTION = 100
LONGEST_LINE = 170
# Anything that tests may use: programs that cross floors have no floor of their own.
FREE_TESTS = {"sweep", "docs", "oracle", "golden", "errors", "fuzz", "interop", "support", "dist", "tool", "python"}

BAD_NAMES = re.compile(r"(^|[/_])(utils?|helpers?|common|managers?|impl|misc)([/_.]|$)")
BAD_WORDS = [
    (re.compile(r"std::format\b|#include <format>"), "std::format is missing in gcc 12; use cat()"),
    (re.compile(r"std::expected\b|#include <expected>"), "std::expected is missing in gcc 12"),
    (re.compile(r"std::source_location\b|#include <source_location>"), "std::source_location is missing in clang 14"),
    (re.compile(r"^\s*(import|export|module) [\w.:]+;"), "modules are missing"),
    (re.compile(r"\busing namespace std\b"), "using namespace std"),
    (re.compile(r"\b(FIXME|XXX|HACK)\b"), "write TODO(#number) or nothing"),
    (re.compile(r"\bTODO\b(?!\(#\d+\))"), "a TODO needs its issue: TODO(#number)"),
]
# Split, so that this file does not hold what it looks for.
PLACES = re.compile("/wor" + r"k/|\.\./sha" + "red")
ALLOWED_MACROS = re.compile(r"#\s*define (RESILIN_ASSERT|RESILIN_API|DOCTEST_CONFIG_\w+)\b")

findings = []


def report(path, line, text):
    findings.append((path, line, text))


def files():
    """All files of the tree, as paths from the root."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if f not in SKIPPED)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), ROOT)


def read_layers():
    layers = {}
    with open(os.path.join(ROOT, "tools/LAYERS"), encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            name, _, below = line.partition(":")
            allowed = below.split()
            for other in allowed:
                if other not in layers:
                    report("tools/LAYERS", number, f"{name.strip()} names {other}, which is not listed above it")
            layers[name.strip()] = set(allowed)
    return layers


def allowed_floors(path, layers):
    """The floors whose headers this file may include; None when any."""
    parts = path.split("/")
    if path == "src/resilin/resilin.h" or parts[0] in ("python", "tools", "bench"):
        return None
    if parts[0] == "examples":
        return set()
    if parts[0] == "tests":
        if parts[1] in FREE_TESTS or len(parts) < 3:
            return None
        return layers.get(parts[1], set()) | {parts[1]}
    if parts[:2] == ["src", "resilin"] and len(parts) > 3:
        return layers.get(parts[2], set()) | {parts[2]}
    return set()


def check_includes(path, lines, layers):
    floors = allowed_floors(path, layers)
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if not match:
            continue
        bracket, name = match.groups()
        if re.match(r"llvm(-c)?/", name) and not path.startswith("src/resilin/codegen/llvm/"):
            report(path, number, "only src/resilin/codegen/llvm may include LLVM")
        if re.match(r"uc[pst]/", name) and not path.startswith("src/resilin/dist/transport/ucx/"):
            report(path, number, "only src/resilin/dist/transport/ucx may include UCX")
        if name.startswith("toml++/") and path != "tools/resilin/train_config.cpp":
            report(path, number, "only tools/resilin/train_config.cpp may include toml++, which takes seconds")
        if bracket == "<":
            continue
        parts = name.split("/")
        if parts[0] == "tests":
            if not path.startswith("tests/"):
                report(path, number, f"{name}: only tests include tests")
            elif parts[1] != "support" and parts[1] != path.split("/")[1]:
                report(path, number, f"{name}: a test includes its own folder and tests/support")
        elif parts[0] != "resilin":
            # Tools and benchmarks have private headers in their own folder, by full path; benchmarks and tests of tools may use those of tools.
            users = (parts[0] + "/", "bench/", "tests/tool/") if parts[0] == "tools" else (parts[0] + "/",)
            if parts[0] not in ("tools", "bench") or not path.startswith(users):
                report(path, number, f'"{name}": include by the full path from src, e.g. "resilin/base/text.h"')
        elif len(parts) > 2 and floors is not None and parts[1] not in floors:
            report(path, number, f"{name}: this folder may not include {parts[1]} (tools/LAYERS)")


def check_words(path, text, lines):
    if PLACES.search(text):
        for number, line in enumerate(lines, 1):
            if PLACES.search(line):
                report(path, number, "names a folder outside the tree")
    if BAD_NAMES.search(path):
        report(path, 1, "utils, helper, common, manager, impl and misc are not words here")
    if not path.endswith(CODE):
        return
    for pattern, why in BAD_WORDS:
        if not pattern.search(text) and "^" not in pattern.pattern:
            continue
        for number, line in enumerate(lines, 1):
            if pattern.search(line):
                report(path, number, why)
    if "define" in text:
        for number, line in enumerate(lines, 1):
            if re.match(r"\s*#\s*define\b", line) and not ALLOWED_MACROS.match(line.strip()):
                report(path, number, "the only macros are RESILIN_ASSERT and RESILIN_API")


def check_first_line(path, lines):
    if path.endswith(CODE):
        mark, first = "//", lines[0] if lines else ""
    elif path.endswith(SCRIPT) or os.path.basename(path) in ("CMakeLists.txt", "Makefile"):
        start = 1 if lines and lines[0].startswith("#!") else 0
        mark, first = "#", lines[start] if len(lines) > start else ""
    else:
        return
    if not first.startswith(f"{mark} {path} -- ") or not first.rstrip().endswith((".", ":")):
        report(path, 1, f'the first line must be "{mark} {path} -- <what it is, one clause>."')


def check_sizes(path, lines):
    if not path.endswith(CODE):
        return
    limit = 300 if path.endswith(".h") else 800 if path.startswith("tests/") else 600
    if len(lines) > limit:
        report(path, len(lines), f"{len(lines)} lines; {limit} is the most")
    if path.endswith(".h") and "#pragma once" not in lines[:20]:
        report(path, 1, "#pragma once belongs below the first comment")
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            report(path, number, f"{len(line)} characters; {LONGEST_LINE} is the most, 140 the aim")
    check_functions(path, lines)


def check_functions(path, lines):
    """Blocks that open at the indentation of namespaces or classes: formatted code closes them at the same one."""
    opened = {}
    for number, line in enumerate(lines, 1):
        stripped = line.lstrip(" ")
        indent = len(line) - len(stripped)
        if indent > 2 or not stripped or stripped.startswith(("//", "#")):
            continue
        if stripped.startswith("}") and indent in opened:
            start = opened.pop(indent)
            if number - start - 1 > LONGEST_FUNCTION:
                report(path, start, f"a function of {number - start - 1} lines; {LONGEST_FUNCTION} is the most")
        table = re.match(r"(namespace|extern|(typedef |template <.*> )?(class|struct|union|enum)\b)|.*(= |=)\{\{?$", stripped)
        if stripped.endswith("{") and not table:
            opened[indent] = number


def listed(text, function):
    """The calls of a CMake function that hold lists, as (first argument or None, files, line)."""
    for match in re.finditer(rf"^{function}\(([^)]*)\)", text, re.MULTILINE):
        yield match.group(1).split(), text.count("\n", 0, match.start()) + 1


def compare(path, line, name, names, present):
    if names != sorted(names):
        first = next(a for a, b in zip(names, sorted(names)) if a != b)
        report(path, line, f"the list of {name} is not sorted at {first}")
    for missing in sorted(set(present) - set(names)):
        report(path, line, f"the list of {name} lacks {missing}")
    for gone in sorted(set(names) - set(present)):
        report(path, line, f"the list of {name} holds {gone}, which does not exist")
    for twice in sorted({n for n in names if names.count(n) > 1}):
        report(path, line, f"the list of {name} holds {twice} twice")


def check_lists(all_files, layers):
    sources = [f for f in all_files if f.endswith(".cpp")]

    def below(prefix, but=()):
        return [f[len(prefix):] for f in sources if f.startswith(prefix) and not f.startswith(tuple(but))]

    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as source:
        text = source.read()
    plugins = {"resilin_plugin_llvm": "src/resilin/codegen/llvm/", "resilin_plugin_ucx": "src/resilin/dist/transport/ucx/"}
    seen = []
    for arguments, line in listed(text, "resilin_sources"):
        folder, names = arguments[0], arguments[1:]
        seen.append(folder)
        compare("CMakeLists.txt", line, folder, names, below(f"src/resilin/{folder}/", plugins.values()))
    for function, folder in plugins.items():
        for arguments, line in listed(text, function):
            compare("CMakeLists.txt", line, function, arguments, below(folder))
    for arguments, line in listed(text, "resilin_tool"):
        compare("CMakeLists.txt", line, "tools/resilin", arguments, below("tools/resilin/"))
    for arguments, line in listed(text, "resilin_kernel_pack"):
        compare("CMakeLists.txt", line, "tools/pack", arguments, below("tools/pack/"))
    order = [name for name in layers if name in seen]
    if order != seen:
        report("CMakeLists.txt", 1, "the folders are not in the order of tools/LAYERS")
    for folder in sorted({f.split("/")[2] for f in sources if f.startswith("src/resilin/") and f.count("/") > 2}):
        if folder not in layers:
            report("tools/LAYERS", 1, f"src/resilin/{folder} is not listed")
        if folder not in seen:
            report("CMakeLists.txt", 1, f"src/resilin/{folder} has no list")
    check_test_lists(below("tests/"))


def check_test_lists(present):
    with open(os.path.join(ROOT, "tests/CMakeLists.txt"), encoding="utf-8") as source:
        text = source.read()
    programs, every = 0, []
    for arguments, line in listed(text, "resilin_test"):
        if arguments[0] == "name":
            continue
        programs += 1
        names = arguments[1:]
        every += names
        compare("tests/CMakeLists.txt", line, arguments[0], names, [n for n in names if n in present])
    if programs > MOST_TEST_PROGRAMS:
        report("tests/CMakeLists.txt", 1, f"{programs} test programs; {MOST_TEST_PROGRAMS} is the most")
    for arguments, line in listed(text, "resilin_test_support"):
        if arguments:
            every += arguments
            compare("tests/CMakeLists.txt", line, "tests/support", arguments, [n for n in present if n.startswith("support/")])
    for arguments, _ in listed(text, "add_executable"):
        every += [n for n in arguments[1:] if n in present]
    compare("tests/CMakeLists.txt", 1, "all test programs", sorted(every), present)


def unformatted(paths):
    """Those of the paths that clang-format would change."""
    result = subprocess.run(["clang-format-14", "--dry-run", "--Werror", *paths], cwd=ROOT, capture_output=True, text=True)
    if result.returncode == 0:
        return []
    found = []
    for match in re.finditer(r"^(\S+?):(\d+):\d+: error: code should be clang-formatted", result.stderr, re.MULTILINE):
        if match.group(1) not in [f[0] for f in found]:
            found.append((match.group(1), int(match.group(2))))
    return found or [(paths[0], 1)]


def check_format(texts):
    """Formats nothing; files whose text was found well formatted before are remembered in build/."""
    if shutil.which("clang-format-14") is None:
        return
    memory = os.path.join(ROOT, "build", "formatted.txt")
    style = open(os.path.join(ROOT, ".clang-format"), encoding="utf-8").read()
    keys = {path: hashlib.sha1((style + text).encode()).hexdigest() for path, text in texts.items()}
    known = set()
    if os.path.exists(memory):
        known = set(open(memory, encoding="utf-8").read().split())
    pending = [path for path in texts if keys[path] not in known]
    groups = [pending[i:i + 8] for i in range(0, len(pending), 8)]
    bad = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(unformatted, groups):
            bad += found
    for path, line in bad:
        report(path, line, "not formatted; run make format")
    os.makedirs(os.path.dirname(memory), exist_ok=True)
    good = sorted(set(keys.values()) - {keys[path] for path, _ in bad if path in keys})
    with open(memory, "w", encoding="utf-8") as sink:
        sink.write("\n".join(good))


def main():
    layers = read_layers()
    all_files = list(files())
    code = {}
    for path in all_files:
        full = os.path.join(ROOT, path)
        if os.path.islink(full) or not os.path.isfile(full) or os.path.getsize(full) > 4_000_000:
            continue
        try:
            with open(full, encoding="utf-8") as source:
                text = source.read()
        except UnicodeDecodeError:
            if path.endswith(CODE + SCRIPT):
                report(path, 1, "not UTF-8")
            continue
        lines = text.splitlines()
        check_words(path, text, lines)
        check_first_line(path, lines)
        check_sizes(path, lines)
        if path.endswith(CODE):
            code[path] = text
            check_includes(path, lines, layers)
    check_lists(all_files, layers)
    check_format(code)
    for path, line, text in sorted(set(findings)):
        print(f"{path}:{line}: {text}")
    if findings:
        print(f"check.py: {len(set(findings))} findings in {len(all_files)} files", file=sys.stderr)
        return 1
    print(f"check.py: {len(all_files)} files are fine")
    return 0


if __name__ == "__main__":
    sys.exit(main())

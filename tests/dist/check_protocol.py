#!/usr/bin/env python3
# tests/dist/check_protocol.py -- Spin searches the model of the reconfigure protocol, and finds what breaks in five weakened ones.
"""check_protocol.py MODEL FOLDER [RESTARTS]: exits 1 when an invariant of the model breaks, or when none of a weakened one does."""

import os
import re
import shutil
import subprocess
import sys
import time

WEAKENED = ("LEADER", "NO_PROMISE", "NO_BASE", "NO_OVERLAP", "NOBODY_SAW_MEANS_NO")
MEMORY_MIB = 4000
SECONDS = 280


def run(arguments, folder):
    result = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=SECONDS, preexec_fn=lambda: os.nice(10))
    return result.returncode, result.stdout + result.stderr


def search(model, folder, flags):
    """Searches every reachable state; gives back what was violated, or nothing, and how many states there were."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    code, text = run(["spin", "-a", *flags, model], folder)
    if code != 0 or not os.path.exists(os.path.join(folder, "pan.c")):
        sys.exit(f"check_protocol.py: spin refuses the model: {text}")
    code, text = run(["gcc", "-O2", "-w", "-DSAFETY", "-DNOREDUCE", "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MIB}", "-o", "pan", "pan.c"], folder)
    if code != 0:
        sys.exit(f"check_protocol.py: gcc refuses the search: {text}")
    code, text = run(["./pan", "-m100000", "-n"], folder)
    violated = re.search(r"pan:\d*:? *(assertion violated.*?|invalid end state.*?) \(at depth", text)
    states = re.search(r"(\d[\d.e+]*) states, stored", text)
    if violated:
        return violated.group(1), states.group(1) if states else "?"
    if not re.search(r"errors: 0\b", text) or "Search not completed" in text or "max search depth too small" in text:
        sys.exit(f"check_protocol.py: the search was not complete: {text}")
    return None, states.group(1)


def main():
    model, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    restarts = sys.argv[3] if len(sys.argv) > 3 else "1"
    for tool in ("spin", "gcc"):
        if shutil.which(tool) is None:
            sys.exit(f"check_protocol.py: {tool} is missing; tools/install.sh build installs it")
    failures = 0
    for weakening in (None, *WEAKENED):
        flags = [f"-DRESTARTS={restarts}"] + ([f"-D{weakening}"] if weakening else [])
        begin = time.monotonic()
        violated, states = search(model, folder, flags)
        print(f"{weakening or 'the protocol'}: {states} states, {time.monotonic() - begin:.1f} s: {violated or 'all invariants hold'}", flush=True)
        failures += (violated is None) == (weakening is not None)
    if failures:
        sys.exit(f"check_protocol.py: {failures} searches did not end as they must")


if __name__ == "__main__":
    main()

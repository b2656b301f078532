# tests/docs/check_example.py -- the programs that pages show are those of examples/, and their output is what the pages show.
#   check_example.py ROOT PAGE SOURCE COMMAND...
import pathlib
import re
import subprocess
import sys

root, page, source = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
text = (root / page).read_text()
shown = re.search(r"```cpp\n(.*?)```\n(?:```sh\n.*?```\n)?```\n(.*?)```", text, re.S)
code = (root / source).read_text().split("\n", 1)[1]
if shown.group(1) != code:
    sys.exit(f"{page}: the program differs from {source}")
output = subprocess.run(sys.argv[4:], capture_output=True, text=True, timeout=120, check=True).stdout
if output != shown.group(2):
    sys.exit(f"{page}: the program prints\n{output}not\n{shown.group(2)}")
print("1 passed, 0 failed")

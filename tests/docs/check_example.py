# tests/docs/check_example.py -- README's program is examples/01_tensors.cpp, and its output is what README shows.
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
program = sys.argv[2]
readme = (root / "README.md").read_text()
code = re.search(r"```cpp\n(.*?)```\n```\n(.*?)```", readme, re.S)
source = (root / "examples/01_tensors.cpp").read_text().split("\n", 1)[1]
if code.group(1) != source:
    sys.exit("README.md: the program differs from examples/01_tensors.cpp")
output = subprocess.run([program], capture_output=True, text=True, timeout=120, check=True).stdout
if output != code.group(2):
    sys.exit(f"README.md: the program prints\n{output}not\n{code.group(2)}")
print("1 passed, 0 failed")

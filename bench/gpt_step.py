# bench/gpt_step.py -- PyTorch's side of bench_train: for each line on the standard input one training step of the GPT, answered by a line.
import os
import sys

# torch's own threads and those of its matrix library are two settings.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = sys.argv[2]

import torch  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "interop"))
from gpt_torch import Gpt, loss_of  # noqa: E402


def main(dtype, threads, batch, length, layers, heads, width):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Gpt(256, length, layers, heads, width).to(getattr(torch, dtype))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    text = torch.randint(0, 256, (batch, length + 1))
    print(torch.__version__, flush=True)
    for _ in sys.stdin:
        loss = loss_of(model(text[:, :-1]), text)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:]))

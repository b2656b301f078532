# tests/interop/gpt_torch.py -- the GPT of gpt_test.cpp in PyTorch: reads what it wrote and compares logits, gradients and losses. Needs torch alone.
import json
import struct
import sys

import torch
from torch import nn
from torch.nn import functional

DTYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "BF16": torch.bfloat16, "F16": torch.float16}


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = bytearray(data[8 + size + begin : 8 + size + end])
        tensors[name] = torch.frombuffer(raw, dtype=DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2))
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        return self.c_proj((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary, block_size, layers, heads, width):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocabulary, width),
                "wpe": nn.Embedding(block_size, width),
                "h": nn.ModuleList([Block(width, heads) for _ in range(layers)]),
                "ln_f": nn.LayerNorm(width),
            }
        )

    def forward(self, tokens):
        t = self.transformer
        x = t["wte"](tokens) + t["wpe"](torch.arange(tokens.shape[1]))
        for block in t["h"]:
            x = block(x)
        return t["ln_f"](x) @ t["wte"].weight.t()


def loss_of(logits, text):
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), text[:, 1:].reshape(-1))


def check(what, difference, limit):
    print(f"{what}: {difference:.2e} (at most {limit:.0e})")
    return difference <= limit


def main(path):
    theirs = read_safetensors(path)
    model = Gpt(256, 32, 3, 4, 64)
    model.load_state_dict({name[len("model.") :]: x for name, x in theirs.items() if name.startswith("model.")}, strict=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    good = True
    largest_loss = 0.0
    for step in range(len(theirs["losses"])):
        text = theirs[f"tokens.{step}"]
        logits = model(text[:, :-1])
        loss = loss_of(logits, text)
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            good &= check("logits", (logits - theirs["logits"]).abs().max().item(), 1e-5)
            worst = max(
                ((x.grad - theirs["grad." + name]).norm() / x.grad.norm()).item() for name, x in model.named_parameters()
            )
            good &= check("gradients, relative to their norms", worst, 1e-4)
        largest_loss = max(largest_loss, abs(loss.item() - theirs["losses"][step].item()))
        optimizer.step()
    good &= check("losses of %d steps" % len(theirs["losses"]), largest_loss, 1e-4)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

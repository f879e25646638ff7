"""Steps of a small transformer's training: thousands of operators, of some ninety names, among other work.

In a loop of one operator, all that a recorder needs is in the nearest cache. Here it is not.
"""

from collections.abc import Callable
from functools import cache

import torch
from torch import nn

STEPS = 10


class Block(nn.Module):
    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.projection, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.dropout(self.out(self.attention(self.norms[0](x))))
        return x + self.dropout(self.down(self.gelu(self.up(self.norms[1](x)))))

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.projection(x).split(width, dim=-1)
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return mixed.transpose(1, 2).reshape(batch, length, width)

    def gelu(self, x: torch.Tensor) -> torch.Tensor:
        """As models do it that came before the operator for it."""
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3))))


@cache
def training_step() -> Callable[[], None]:
    torch.set_num_threads(1)
    vocabulary, width = 100, 32
    blocks = [Block(width) for _ in range(12)]
    model = nn.Sequential(nn.Embedding(vocabulary, width), *blocks, nn.Linear(width, vocabulary))
    tokens = torch.randint(0, vocabulary, (1, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step() -> None:
        logits = model(tokens).view(-1, vocabulary)
        nn.functional.cross_entropy(logits, tokens.view(-1)).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def run_steps(count: int) -> None:
    step = training_step()
    for _ in range(count):
        step()

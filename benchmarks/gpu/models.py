"""Training steps of real models with random weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any


@cache
def gpt2(batch: int, length: int) -> Callable[[Any], None]:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config()).cuda().train()
    tokens = torch.randint(0, 50_000, (batch, length), device="cuda")
    return training_step(model, lambda: model(tokens, labels=tokens).loss)


@cache
def resnet50(batch: int) -> Callable[[Any], None]:
    import torch
    import torchvision

    model = torchvision.models.resnet50().cuda().train()
    images = torch.randn(batch, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (batch,), device="cuda")
    return training_step(model, lambda: torch.nn.functional.cross_entropy(model(images), labels))


def training_step(model: Any, loss: Callable[[], Any]) -> Callable[[Any], None]:
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step(scope: Any) -> None:
        with scope("forward"):
            value = loss()
        with scope("backward"):
            value.backward()
        with scope("optimizer"):
            optimizer.step()
            optimizer.zero_grad()

    return step


MODELS = {"GPT-2 small": partial(gpt2, 8, 512), "ResNet-50": partial(resnet50, 32)}

# As many operators, and so little for the GPU that it is done before the host.
SMALL_MODELS = {"GPT-2 small": partial(gpt2, 1, 64), "ResNet-50": partial(resnet50, 2)}

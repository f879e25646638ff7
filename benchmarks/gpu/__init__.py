"""What recording costs on a GPU; needs one, and PyTorch for it."""


def describe_gpu() -> str:
    import torch

    return f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}, CUDA {torch.version.cuda}"

"""Two programs that do little but call."""


def tiny() -> None:
    pass


def call_tiny(count: int) -> None:
    for _ in range(count):
        tiny()


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)

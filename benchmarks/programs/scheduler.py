"""A small kitchen: cooks, a waiter and a dish washer pass orders around under a priority scheduler.

The kind of program that Richards stands for: objects with state, methods that dispatch on it, queues, few
calls of C functions, a random generator of its own so that every run is the same.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator


class Dice:
    """A linear congruential generator."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def roll(self, sides: int) -> int:
        self.state = (self.state * 1103515245 + 12345) & 0x7FFFFFFF
        return (self.state >> 8) % sides


class Order:
    def __init__(self, table: int, dishes: list[str]) -> None:
        self.table = table
        self.dishes = dishes
        self.steps = 0

    @property
    def is_ready(self) -> bool:
        return self.steps >= len(self.dishes)

    def advance(self) -> None:
        self.steps += 1


class Task:
    """Whoever waits for orders; a smaller rank is served first."""

    rank = 0

    def __init__(self, kitchen: Kitchen) -> None:
        self.kitchen = kitchen
        self.inbox: deque[Order] = deque()
        self.is_queued = False
        self.handled = 0

    def give(self, order: Order) -> None:
        self.inbox.append(order)
        self.wake()

    def wake(self) -> None:
        if not self.is_queued:
            self.is_queued = True
            self.kitchen.enqueue(self)

    def run(self) -> None:
        self.is_queued = False
        order = self.inbox.popleft()
        self.handled += 1
        self.handle(order)
        if self.inbox:
            self.wake()

    def handle(self, order: Order) -> None:
        raise NotImplementedError


class Waiter(Task):
    rank = 2

    def handle(self, order: Order) -> None:
        if order.is_ready:
            self.kitchen.washer.give(order)
        else:
            self.next_cook(order).give(order)

    def next_cook(self, order: Order) -> Cook:
        skilled = [cook for cook in self.kitchen.cooks if cook.knows(order.dishes[order.steps])]
        return skilled[self.kitchen.dice.roll(len(skilled))]


class Cook(Task):
    rank = 1

    def __init__(self, kitchen: Kitchen, skills: set[str]) -> None:
        super().__init__(kitchen)
        self.skills = skills

    def knows(self, dish: str) -> bool:
        return dish in self.skills

    def handle(self, order: Order) -> None:
        self.stir(order)
        self.kitchen.waiter.give(order)

    def stir(self, order: Order) -> None:
        for _ in self.turns():
            pass
        order.advance()

    def turns(self) -> Iterator[int]:
        yield from range(self.kitchen.dice.roll(3))


class Washer(Task):
    rank = 3

    def handle(self, order: Order) -> None:
        self.kitchen.served(order)


class Kitchen:
    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.cooks = [
            Cook(self, {"soup", "salad"}),
            Cook(self, {"soup", "fish"}),
            Cook(self, {"cake", "fish"}),
        ]
        self.waiter = Waiter(self)
        self.washer = Washer(self)
        self.queue: list[tuple[int, int, Task]] = []
        self.arrivals = 0
        self.tables: dict[int, int] = {}

    def enqueue(self, task: Task) -> None:
        self.arrivals += 1
        heapq.heappush(self.queue, (task.rank, self.arrivals, task))

    def served(self, order: Order) -> None:
        self.tables[order.table] = self.tables.get(order.table, 0) + 1

    def take_order(self) -> None:
        menu = ("soup", "salad", "fish", "cake")
        dishes = [menu[self.dice.roll(len(menu))] for _ in range(1 + self.dice.roll(3))]
        self.waiter.give(Order(self.dice.roll(12), dishes))

    def work(self) -> None:
        while self.queue:
            heapq.heappop(self.queue)[2].run()


def run(orders: int) -> int:
    """Serve `orders` orders, ten at a time; how many hands they went through."""
    kitchen = Kitchen(seed=orders)
    for number in range(orders):
        kitchen.take_order()
        if number % 10 == 9:
            kitchen.work()
    kitchen.work()
    return sum(task.handled for task in (*kitchen.cooks, kitchen.waiter, kitchen.washer))

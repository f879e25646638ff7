"""How the tests look at execution traces: one of ours and one of torch's, of the same run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Graph", "attributes", "loaded", "same_nodes"]

Node = dict[str, Any]
# Theirs by ours, of tensors and of storages: torch may call one as the other, at whose address it is.
Ids = tuple[dict[int, int], dict[int, int]]
THREAD, PROCESS = (f"[pytorch|profiler|execution_trace|{kind}]" for kind in ("thread", "process"))


def loaded(path: Path) -> dict[str, Any]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    document: dict[str, Any] = json.loads(text)
    return document


def attributes(node: Node) -> dict[str, Any]:
    return {attribute["name"]: attribute["value"] for attribute in node["attrs"]}


class Graph:
    """The nodes by the number of their RecordFunction, which both traces share."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.nodes: list[Node] = document["nodes"]
        self.by_id = {node["id"]: node for node in self.nodes}
        self.by_function = {
            attributes(node)["rf_id"]: node for node in self.nodes if attributes(node)["rf_id"]
        }

    def check(self) -> None:
        """What holds of every trace: ids are unique, and everyone's parent is there and began before it."""
        assert len(self.by_id) == len(self.nodes)
        for node in self.nodes:
            assert node["ctrl_deps"] in self.by_id
            assert node["ctrl_deps"] < node["id"] or node["name"] == PROCESS
        assert [node["id"] for node in self.nodes if node["name"] == PROCESS] == [1]

    def names(self) -> list[str]:
        return [node["name"] for node in self.nodes]

    def named(self, name: str) -> Node:
        (node,) = (node for node in self.nodes if node["name"] == name)
        return node

    def forget(self, name: str) -> None:
        self.by_function = {key: node for key, node in self.by_function.items() if node["name"] != name}

    def parent(self, node: Node) -> Node:
        return self.by_id[node["ctrl_deps"]]

    def key(self, identifier: int) -> object:
        """What a node is called in both traces."""
        if identifier not in self.by_id:
            return None
        node = self.by_id[identifier]
        return attributes(node)["rf_id"] or (node["name"], attributes(node)["tid"])


def same_nodes(ours: Graph, theirs: Graph) -> int:
    """How many nodes were compared: by name, parent, inputs, outputs and attributes."""
    assert ours.by_function.keys() == theirs.by_function.keys()
    ids: Ids = ({}, {})
    for function, node in ours.by_function.items():
        other = theirs.by_function[function]
        assert node["name"] == other["name"]
        assert ours.key(node["ctrl_deps"]) == theirs.key(other["ctrl_deps"])
        for side in ("inputs", "outputs"):
            for part in ("shapes", "types", "strides"):
                assert node[side][part] == other[side][part], node["name"]
            _same_values(node[side]["values"], other[side]["values"], ids)
        _same_attributes(ours, node, theirs, other)
    for of_one_kind in ids:
        assert len(set(of_one_kind.values())) == len(of_one_kind)
    return len(ours.by_function)


def _same_attributes(ours: Graph, node: Node, theirs: Graph, other: Node) -> None:
    pairs = [(a, b) for a, b in zip(node["attrs"], other["attrs"], strict=True)]
    assert [(a["name"], a["type"]) for a, _ in pairs] == [(b["name"], b["type"]) for _, b in pairs]
    for a, b in pairs:
        if a["name"] == "fw_parent":
            assert ours.key(a["value"]) == theirs.key(b["value"])
        else:
            assert a == b, node["name"]


def _same_values(ours: Any, theirs: Any, ids: Ids) -> None:
    """Ids of tensors are others, but the same ones each time; torch cuts numbers after six decimals."""
    assert type(ours) is type(theirs)
    if isinstance(ours, float):
        assert round(ours, 6) == theirs
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        if is_tensor(ours):
            for known, a, b in zip(ids, ours[:2], theirs[:2], strict=True):
                assert known.setdefault(a, b) == b
            ours, theirs = ours[2:], theirs[2:]
        for a, b in zip(ours, theirs, strict=True):
            _same_values(a, b, ids)
    else:
        assert ours == theirs


def is_tensor(value: list[Any]) -> bool:
    """Six members, the last a device: no list that an operator takes looks like that."""
    return len(value) == 6 and isinstance(value[5], str) and all(type(part) is int for part in value[:5])

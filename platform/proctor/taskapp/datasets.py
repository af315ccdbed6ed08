"""Datasets behind a Task App: specs, a registry with a cache, splits and seeds.

Ids are unique unless replaced; what is cached is known by the whole effective spec; a load that many ask for happens once. Seeds are
whole numbers, and one beyond the cardinality is wrapped, visibly.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class DatasetSpec(BaseModel):
    """`cardinality` is the number of tasks. The default split, if any, is one of the declared ones."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(min_length=1)
    name: str
    version: str | None = None
    splits: list[str] = Field(default_factory=list)
    default_split: str | None = None
    cardinality: int | None = Field(default=None, ge=0)
    description: str | None = None

    @model_validator(mode="after")
    def _default_is_declared(self) -> DatasetSpec:
        if self.default_split is not None and self.splits and self.default_split not in self.splits:
            raise ValueError(f"default_split {self.default_split!r} is none of the splits {self.splits}")
        return self

    def merged(self, **changes: Any) -> DatasetSpec:
        """A new spec with some fields replaced, checked as a whole. Raises ValidationError, a ValueError."""
        return DatasetSpec.model_validate({**self.model_dump(), **changes})


class NoSuchDataset(KeyError):
    """No dataset has the id; the message lists those there are."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Seed:
    """`requested` as the caller said, `effective` within the dataset, `wrapped` when they differ."""

    requested: int
    effective: int

    @property
    def wrapped(self) -> bool:
        return self.requested != self.effective


Loader = Callable[[DatasetSpec], Any]


@dataclass
class _Slot:
    lock: threading.Lock
    value: Any = None
    loaded_at: float | None = None


class DatasetRegistry:
    """`cache_size` loaded datasets are kept, each for `cache_s` seconds (None: as long as there is room)."""

    def __init__(self, *, cache_size: int = 32, cache_s: float | None = None) -> None:
        self._specs: dict[str, tuple[DatasetSpec, Loader, bool]] = {}
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._cache_size, self._cache_s = cache_size, cache_s
        self._lock = threading.Lock()

    def register(self, spec: DatasetSpec, loader: Loader, *, cache: bool = True, replace: bool = False) -> None:
        """Raises ValueError when the id is taken; `replace=True` takes it over and forgets what was loaded."""
        with self._lock:
            if spec.id in self._specs and not replace:
                raise ValueError(f"there is a dataset {spec.id!r} already; replace=True takes its place")
            self._specs[spec.id] = (spec, loader, cache)
            for key in [key for key in self._slots if key.partition("\n")[0] == spec.id]:
                del self._slots[key]

    def describe(self, dataset_id: str) -> DatasetSpec:
        """Raises NoSuchDataset."""
        found = self._specs.get(dataset_id)
        if found is None:
            raise NoSuchDataset(f"no dataset {dataset_id!r}; there are: {', '.join(self.list()) or 'none'}")
        return found[0]

    def list(self) -> list[str]:
        """Ids, sorted."""
        return sorted(self._specs)

    def get(self, dataset_id: str, **changes: Any) -> Any:
        """The loaded dataset of the spec with `changes`. One load however many ask at once; a failed load is not kept."""
        spec = self.describe(dataset_id)
        spec = spec.merged(**changes) if changes else spec
        _spec, loader, cache = self._specs[dataset_id]
        if not cache:
            return loader(spec)
        slot = self._slot(f"{dataset_id}\n{spec.model_dump_json()}")
        with slot.lock:
            now = time.monotonic()
            if slot.loaded_at is None or (self._cache_s is not None and now - slot.loaded_at > self._cache_s):
                slot.value, slot.loaded_at = loader(spec), now
            return slot.value

    def _slot(self, key: str) -> _Slot:
        with self._lock:
            slot = self._slots.setdefault(key, _Slot(threading.Lock()))
            self._slots.move_to_end(key)
            while len(self._slots) > self._cache_size:
                self._slots.popitem(last=False)
            return slot

    def ensure_split(self, dataset_id: str, split: str | None) -> str:
        """No declared splits: the given, else the default, else `default`. Declared: one of them, or the default for None. Raises ValueError."""
        spec = self.describe(dataset_id)
        if not spec.splits:
            return split or spec.default_split or "default"
        chosen = split if split is not None else spec.default_split
        if chosen is None:
            raise ValueError(f"dataset {dataset_id!r} has no default split: name one of {spec.splits}")
        if chosen not in spec.splits:
            raise ValueError(f"dataset {dataset_id!r} has no split {chosen!r}; there are {spec.splits}")
        return chosen


def normalise_seed(value: Any, *, cardinality: int | None = None, negatives: Literal["refuse", "wrap"] = "refuse") -> Seed:
    """A whole number, or its digits as text. Raises ValueError for all else (fractions and booleans too), and for negatives unless they are
    to wrap, as Python's indices do."""
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value))):
        raise ValueError(f"a seed is a whole number, not {value!r}")
    number = int(value)
    if number < 0 and negatives == "refuse":
        raise ValueError(f"a seed is not negative: {number}")
    return Seed(number, number % cardinality if cardinality else number)

"""The memory that an estimator may use."""

from __future__ import annotations

from representer._parallel import machine_memory
from representer.result import Plan


class Budgeted:
    """An estimator with ``memory`` in bytes, the machine's when None, and ``threads``."""

    memory: int | None
    threads: int | None

    def _memory(self) -> int:
        return machine_memory() if self.memory is None else self.memory

    def _refuse(self, needed: int, what: str, way_out: str) -> None:
        """Raise if ``what`` needs more bytes than the budget."""
        if needed > self._memory():
            raise MemoryError(
                f"{what} needs {needed / 1e9:.3g} GB, above the budget of {self._memory() / 1e9:.3g} GB; use {way_out}."
            )

    def _judged(self, plan: Plan, way_out: str) -> Plan:
        """The plan, refused if it is above the budget."""
        return plan.within(self._memory(), f"use {way_out}")

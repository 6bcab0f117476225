"""What scikit-learn asks of parameters, without an import of its estimators, which import many others."""

from __future__ import annotations

from typing import Any

from representer.drop_in.patching import original


class Constraints:
    """The class attribute ``_parameter_constraints`` of scikit-learn's class of the same name, read on first access."""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self._owner, self._attribute = owner, attribute

    def __get__(self, instance: Any, owner: type | None = None) -> dict[str, Any]:
        constraints = getattr(original(self._owner.__name__), self._attribute)
        setattr(self._owner, self._attribute, constraints)
        return constraints

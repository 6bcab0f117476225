"""Laws that every kernel, Gram matrix, function, loss and solver must satisfy, for this library's tests and for yours.

Each check raises AssertionError with the law that was violated. They are fast for a few dozen inputs.
"""

from representer.testing.function_laws import check_function, check_representer_theorem
from representer.testing.kernel_laws import check_kernel
from representer.testing.loss_laws import check_loss
from representer.testing.matrix_laws import check_gram, check_operator
from representer.testing.solver_laws import check_solver

__all__ = [
    "check_function",
    "check_gram",
    "check_kernel",
    "check_loss",
    "check_operator",
    "check_representer_theorem",
    "check_solver",
]

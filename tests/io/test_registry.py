"""A file may name every exported class, and no other."""

import representer
from representer import kernels, losses
from representer.io.registry import APPROXIMATIONS, CLASS_NAMES, ESTIMATORS, NAMED_CLASSES


def test_every_public_estimator_can_be_saved():
    public = {getattr(representer, name) for name in representer.__all__}
    assert {each for each in public if isinstance(each, type) and hasattr(each, "get_params")} == {
        *ESTIMATORS,
        *APPROXIMATIONS,
    }


def test_every_kernel_and_loss_can_be_saved():
    for room in (kernels, losses):
        public = [getattr(room, name) for name in room.__all__]
        for each in public:
            assert not hasattr(each, "get_params") or CLASS_NAMES[each].endswith(f".{each.__name__}")


def test_names_are_of_this_library():
    assert all(each.__module__.startswith("representer.") for each in NAMED_CLASSES.values())
    assert len(CLASS_NAMES) == len(set(CLASS_NAMES.values()))

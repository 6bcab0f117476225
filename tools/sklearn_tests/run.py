"""scikit-learn's own tests, as they come with the installed package, run against representer.drop_in.

python tools/sklearn_tests/run.py [arguments of pytest]
"""

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

FILES = (
    "tests/test_kernel_ridge.py",
    "tests/test_kernel_approximation.py",
    "svm/tests/test_svm.py",
    "svm/tests/test_sparse.py",
    "decomposition/tests/test_kernel_pca.py",
    "gaussian_process/tests/test_gpr.py",
    "gaussian_process/tests/test_gpc.py",
    "gaussian_process/tests/test_kernels.py",
    "neighbors/tests/test_kde.py",
    "tests/test_multiclass.py",
    "tests/test_pipeline.py",
)


def main(arguments):
    root = Path(find_spec("sklearn").origin).parent
    files = [str(root / file) for file in FILES]
    if missing := [file for file in files if not Path(file).exists()]:
        sys.exit(f"This scikit-learn was installed without its tests ({missing[0]}); install a wheel from PyPI.")
    if chosen := [a for a in arguments if a in FILES]:
        files = [str(root / file) for file in chosen]
        os.environ["ONLY"] = "1"
    sys.path.insert(0, str(Path(__file__).parent))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    os.environ["PYTHONDONTWRITEBYTECODE"] = ""
    with tempfile.TemporaryDirectory() as folder:  # settings of their own, not those of this project
        ini = Path(folder, "pytest.ini")
        ini.write_text("[pytest]\nfilterwarnings = default\n", encoding="utf-8")
        options = ["-c", str(ini), "--rootdir", str(root), "-p", "plugin", "-p", "no:cacheprovider", "-q"]
        return pytest.main([*options, *files, *(a for a in arguments if a not in FILES)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

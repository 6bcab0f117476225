"""The plan of the house: imports point one way, loops are compiled in one room, tests mirror the source."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "representer"
TESTS = ROOT / "tests"

LEVELS = [
    {"_loops"},
    {"_tiles"},
    {"kernels"},
    {"gram"},
    {"psd"},
    {"functions"},
    {"features"},
    {"losses", "regularizers"},
    {"problem"},
    {"solvers"},
    {"preimage"},
    {"estimators"},
    {"distributed"},
    {"plotting"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
WITHOUT_SOURCE = {"test_structure.py", "test_readme.py", "test_demo.py", "test_examples.py", "test_expressions.py"}


def import_faults(source: Path) -> list[str]:
    """Every import between modules of the package `source` that goes the wrong way, with what to do about it."""
    faults = []
    for name, place, target, inside_function in imports(source):
        if target.split(".")[0] == source.name:
            if inside_function:
                faults.append(f"{place} imports {target} inside a function: move it to the top of the file")
            if name != source.name and (fault := wrong_way(name, target)):
                faults.append(f"{place} imports {target}{fault}")
    return faults


def wrong_way(name: str, target: str) -> str | None:
    """What is wrong with module `name` importing module `target`, if anything."""
    here, there = room_of(name), room_of(target)
    if name.startswith(f"{target}."):
        return ", the __init__ of its own package: import from the file that defines the name"
    if there == "testing":
        return ": testing is for users and tests, so no room may import it"
    unknown = {here, there} - LEVEL.keys() - {"testing"}
    if unknown:
        return f": give {', '.join(sorted(unknown))} a place in LEVELS of tests/test_structure.py"
    level = LEVEL["solvers"] if here == "testing" else LEVEL[here]
    if here != there and LEVEL[there] >= level:
        return f": {here} does not come after {there}, so move what both need to an earlier room"
    return None


def compiler_faults(source: Path) -> list[str]:
    """Every use of Numba outside `_loops`, with what to do about it."""
    uses = [
        (name, place, target)
        for name, place, target, _ in imports(source)
        if target.split(".")[0] == "numba" or target == f"{source.name}._loops.jit"
    ]
    for name, path in modules_of(source).items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            word = getattr(node, "id", None) or getattr(node, "attr", None)
            if word in {"jit", "njit"}:
                uses.append((name, f"{path.relative_to(source)}:{node.lineno}", word))
    return [
        f"{place} uses {word}: move the compiled function to _loops"
        for name, place, word in uses
        if room_of(name) != "_loops"
    ]


def mirror_faults(source: Path, tests: Path) -> list[str]:
    """Every source file without its test file, and every test file without its source file."""
    modules = {path.relative_to(source) for path in source.rglob("*.py") if path.name != "__init__.py"}
    wanted = {path.with_name(f"test_{path.name.removeprefix('_')}"): path for path in modules}
    present = {path.relative_to(tests) for path in tests.rglob("test_*.py") if path.name not in WITHOUT_SOURCE}
    return [
        *(f"{wanted[test]} has no test: write tests/{test}" for test in sorted(wanted.keys() - present)),
        *(
            f"tests/{test} has no source file: name it after the file it tests"
            for test in sorted(present - wanted.keys())
        ),
    ]


def modules_of(source: Path) -> dict[str, Path]:
    """All modules of the package `source` by their dotted names."""
    paths = sorted(source.rglob("*.py"))
    names = [".".join(path.relative_to(source.parent).with_suffix("").parts) for path in paths]
    return {name.removesuffix(".__init__"): path for name, path in zip(names, paths, strict=True)}


def room_of(name: str) -> str:
    """Return `kernels` for `representer.kernels.base`."""
    return [*name.split("."), ""][1]


def imports(source: Path):
    """Yield (importing module, its file and line, imported module, whether a function does it)."""
    modules = modules_of(source)
    for name, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        inner = {node for function in functions for node in ast.walk(function)}
        for node in ast.walk(tree):
            for target in targets(node, package, modules):
                yield name, f"{path.relative_to(source)}:{node.lineno}", target, node in inner


def targets(node: ast.AST, package: str, modules: dict[str, Path]) -> list[str]:
    """List the modules that `node` imports if it stands in a file of `package`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    base = ".".join([*parents, node.module] if node.module else parents)
    full = [f"{base}.{alias.name}" for alias in node.names]
    return sorted({name if name in modules else base for name in full})


@pytest.mark.parametrize("faults", [import_faults, compiler_faults])
def test_source_keeps_the_plan(faults):
    found = faults(SOURCE)
    assert not found, "\n" + "\n".join(found)


def test_tests_mirror_the_source():
    found = mirror_faults(SOURCE, TESTS)
    assert not found, "\n" + "\n".join(found)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


ROOMS = {
    "__init__.py": "from representer.kernels import RBF\nfrom representer.testing import check_kernel\n",
    "_loops/__init__.py": "",
    "_loops/jit.py": "from numba import njit\n",
    "_loops/radial.py": "from representer._loops.jit import njit\n",
    "_tiles.py": "import threading\n",
    "kernels/__init__.py": "from representer.kernels.base import RBF\n",
    "kernels/base.py": "from representer import _tiles\nfrom .._loops import radial\nfrom .algebra import Sum\n",
    "kernels/algebra.py": "def plot():\n    import matplotlib\n",
    "gram.py": "import representer.kernels.base\nfrom representer.kernels import RBF\n",
    "losses/hinge.py": "",
    "regularizers.py": "",
    "problem.py": "from representer.losses.hinge import Hinge\n",
    "solvers/newton.py": "",
    "testing.py": "from representer.problem import Problem\n",
}


@pytest.fixture
def house(tmp_path):
    return write(tmp_path / "representer", ROOMS)


def test_good_house_has_no_faults(house):
    assert import_faults(house) == []
    assert compiler_faults(house) == []


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("kernels/base.py", "from representer.gram import Gram", "kernels does not come after gram"),
        ("kernels/base.py", "from ..gram import Gram", "kernels does not come after gram"),
        ("kernels/base.py", "import os, representer.gram", "kernels does not come after gram"),
        ("kernels/base.py", "if True:\n    from representer import gram", "kernels does not come after gram"),
        ("kernels/__init__.py", "from . import base\nfrom .. import gram", "kernels does not come after gram"),
        ("losses/hinge.py", "from representer.regularizers import Ball", "losses does not come after regularizers"),
        ("testing.py", "from representer.solvers.newton import Newton", "testing does not come after solvers"),
        ("gram.py", "from representer.testing import check_kernel", "no room may import it"),
        (
            "kernels/base.py",
            "from representer.kernels import Sum",
            "representer.kernels, the __init__ of its own package",
        ),
        ("kernels/base.py", "from . import Sum", "representer.kernels, the __init__ of its own package"),
        ("gram.py", "from representer import RBF", "representer, the __init__ of its own package"),
        (
            "gram.py",
            "def f():\n    from representer._tiles import walk",
            "gram.py:2 imports representer._tiles inside a",
        ),
        ("attic.py", "from representer.gram import Gram", "give attic a place"),
    ],
)
def test_import_faults_are_found(house, file, text, fault):
    write(house, {file: text})
    (found,) = import_faults(house)
    assert fault in found


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("import numba", "numba"),
        ("def f():\n    from numba.extending import overload", "numba.extending"),
        ("from representer._loops.jit import loop", "representer._loops.jit"),
        ("from somewhere import fast\n\n@fast.njit\ndef f(x):\n    return x", "njit"),
    ],
)
def test_compiler_faults_are_found(house, text, word):
    write(house, {"gram.py": text})
    (found,) = compiler_faults(house)
    assert f"uses {word}: move" in found


def test_mirror_faults_are_found(house, tmp_path):
    names = [name.rpartition("/") for name in ROOMS if "__init__" not in name]
    tests = {f"tests/{folder}/test_{name.removeprefix('_')}": "" for folder, _, name in names}
    write(tmp_path, tests | {"tests/test_readme.py": "", "tests/naive.py": ""})
    assert mirror_faults(house, tmp_path / "tests") == []

    (tmp_path / "tests/test_tiles.py").rename(tmp_path / "tests/test_blocks.py")
    assert mirror_faults(house, tmp_path / "tests") == [
        "_tiles.py has no test: write tests/test_tiles.py",
        "tests/test_blocks.py has no source file: name it after the file it tests",
    ]

"""The plan of the house: imports point one way, loops are compiled in one room, tests mirror the source."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "representer"
TESTS = ROOT / "tests"

LEVELS = [
    {"_loops"},
    {"_parallel"},
    {"kernels"},
    {"rows"},
    {"gram"},
    {"psd"},
    {"functions"},
    {"features"},
    {"losses", "regularizers"},
    {"problems"},
    {"result"},
    {"solvers"},
    {"processes"},
    {"preimage"},
    {"estimators"},
    {"plotting"},
    {"tables"},
    {"io"},
    {"cli"},
    {"drop_in"},
    {"onnx"},
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
SEALED = {"solvers.smo"}
"""Packages whose files only their own files may import."""
WITHOUT_SOURCE = {
    "test_certificates.py",
    "test_demo.py",
    "test_examples.py",
    "test_expressions.py",
    "test_lazy_import.py",
    "test_readme.py",
    "test_structure.py",
    "test_structured_inputs.py",
}


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
    if there == "testing" != here:
        return ": testing is for users and tests, so no room may import it"
    for package in (f"{name.split('.')[0]}.{sealed}" for sealed in SEALED):
        if target.startswith(f"{package}.") and not f"{name}.".startswith(f"{package}."):
            return f": import from {package} itself"
    unknown = {here, there} - LEVEL.keys() - {"testing"}
    if unknown:
        return f": give {', '.join(sorted(unknown))} a place in LEVELS of tests/test_structure.py"
    level = LEVEL["solvers"] if here == "testing" else LEVEL[here]
    if here != there and LEVEL[there] >= level:
        return f": {here} does not come after {there}, so move what both need to an earlier room"
    return None


def compiler_faults(source: Path) -> list[str]:
    """Every use of Numba outside `_loops`, and of LLVM outside `_loops/simd`, with what to do about it."""
    uses = [
        (name, place, target)
        for name, place, target, _ in imports(source)
        if target.split(".")[0] == "numba" or target == f"{source.name}._loops.jit"
    ]
    for name, path in modules_of(source).items():
        text = path.read_text(encoding="utf-8")
        for node in nodes(parsed(text)) if "jit" in text else ():
            word = getattr(node, "id", None) or getattr(node, "attr", None)
            if word in {"jit", "njit"}:
                uses.append((name, f"{path.relative_to(source)}:{node.lineno}", word))
    by_hand = [
        f"{place} uses {target}: move the vector code to _loops/simd"
        for name, place, target, _ in imports(source)
        if target.split(".")[0] == "llvmlite" and not name.startswith(f"{source.name}._loops.simd.")
    ]
    return by_hand + [
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


@cache
def parsed(text: str) -> ast.Module:
    """The syntax tree of a file, which several checks read."""
    return ast.parse(text)


@cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    """All nodes of a syntax tree."""
    return list(ast.walk(tree))


def imports(source: Path):
    """Yield (importing module, its file and line, imported module, whether a function does it)."""
    modules = modules_of(source)
    for name, path in modules.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node, inside in import_nodes(path.read_text(encoding="utf-8")):
            for target in targets(node, package, modules):
                yield name, f"{path.relative_to(source)}:{node.lineno}", target, inside


@cache
def import_nodes(text: str) -> list[tuple[ast.AST, bool]]:
    """The imports of a file, and whether a function does them."""
    found, left = [], [(parsed(text), False)]
    while left:
        node, inside = left.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append((node, inside))
        elif isinstance(node, ast.stmt | ast.Module | ast.ExceptHandler | ast.match_case):  # what holds statements
            inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            left += [(child, inside) for child in ast.iter_child_nodes(node)]
    return sorted(found, key=lambda pair: pair[0].lineno)


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


TILES = {"fill", "fill_tile", "fill_symmetric", "half_block", "new_tile"}
"""What fills tiles of kernel values: the business of kernels and gram."""
FAMILIES = {"Stationary", "DotProduct", "ScalarForm", "SetKernel", "Vectors", "SparseVectors", "Precomputed"}
AT_THE_DOOR = {"kernels", "gram"}
WITH_MANY_PARAMETERS = {"estimators", "drop_in"}
"""Whose public constructors have a parameter for each option, as scikit-learn asks."""
LONGEST_FILE, LONGEST_FUNCTION, MOST_PARAMETERS, DEEPEST = 400, 50, 8, 4


def trees(source: Path):
    """Yield each file of the package with its name in it, its room and its syntax tree."""
    for path in sorted(source.rglob("*.py")):
        rest = path.relative_to(source)
        yield path, str(rest), rest.parts[0].removesuffix(".py"), parsed(path.read_text(encoding="utf-8"))


def door_faults(source: Path) -> list[str]:
    """Every tile of a kernel that is filled, and every family that is asked for, outside of kernels and gram."""
    faults = []
    for _, name, room, tree in trees(source):
        if room in AT_THE_DOOR or room == "_loops":
            continue
        for node in nodes(tree):
            if not isinstance(node, ast.Call):
                continue
            if isinstance(node.func, ast.Attribute):
                owner, called = ast.unparse(node.func.value), node.func.attr
                if (called in TILES and "kernel" in owner.lower()) or (called == "block" and "kernel" in owner.lower()):
                    faults.append(f"{name}:{node.lineno} calls {owner}.{called}: ask a Gram")
                if owner == "tiles":
                    faults.append(f"{name}:{node.lineno} calls {owner}.{called}: ask a Gram")
            elif getattr(node.func, "id", "") == "isinstance":
                asked = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)} & FAMILIES
                if asked and room != "testing":
                    faults.append(f"{name}:{node.lineno} asks for {', '.join(asked)}: use a fact of the kernel")
    return faults


BUILT_IN = {"Certificate": ("result.py",), "Judgement": ("problems/",)}
"""Records that only these files build, so that every fit is judged by its problem."""


def judged_faults(source: Path) -> list[str]:
    """Every certificate, and every judgement, that is built elsewhere."""
    return [
        f"{name}:{node.lineno} builds a {node.func.id}: let the problem judge, and result.py certify"
        for _, name, _, tree in trees(source)
        for node in nodes(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in BUILT_IN
        and not name.startswith(BUILT_IN[node.func.id])
    ]


def frozen_faults(source: Path) -> list[str]:
    """Every problem that is not a frozen record, and every write on one, its arrays included, from outside."""
    faults, files = [], list(trees(source))
    found = [(name, node) for _, name, room, tree in files for node in nodes(tree) if room == "problems"]
    records = [(name, node) for name, node in found if isinstance(node, ast.ClassDef)]
    faults += [f"{name}:{node.lineno} {node.name} is not frozen" for name, node in records if not is_frozen(node)]
    kinds = {node.name for _, node in records}
    for _, name, _, tree in files:
        for function in nodes(tree):
            if isinstance(function, ast.FunctionDef):
                known = problems_in(function, kinds)
                for target in written_in(function):
                    owner = target.value
                    if ast.unparse(owner) in known or ast.unparse(owner).split(".")[-1] == "problem":
                        faults.append(
                            f"{name}:{target.lineno} writes on {ast.unparse(target)}: use dataclasses.replace"
                        )
    return sorted(set(faults))


def problems_in(function: ast.FunctionDef, kinds: set[str]) -> set[str]:
    """The names in a function that stand for problems: by their annotation, or as they are built there."""
    arguments = [each for each in (*function.args.args, *function.args.kwonlyargs) if each.annotation is not None]
    known = {each.arg for each in arguments if ast.unparse(each.annotation).strip("'\"").split(" | ")[0] in kinds}
    for node in ast.walk(function):
        built = node.value if isinstance(node, ast.Assign) else None
        if isinstance(built, ast.Call) and getattr(built.func, "id", "") in kinds:
            known |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return known


def written_in(function: ast.FunctionDef) -> list[ast.Attribute]:
    """The attributes that a function sets, or whose entries it sets."""
    targets = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            targets += [part for target in node.targets for part in getattr(target, "elts", [target])]
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets.append(node.target)
    entries = [target.value if isinstance(target, ast.Subscript) else target for target in targets]
    return [target for target in entries if isinstance(target, ast.Attribute)]


def is_frozen(node: ast.ClassDef) -> bool:
    """Whether a class is a frozen record."""
    return any("frozen=True" in ast.unparse(decorator) for decorator in node.decorator_list)


def size_faults(source: Path) -> list[str]:
    """Every file, function, list of parameters and chain of classes that is longer than the house allows."""
    faults, bases = [], {}
    for path, name, room, tree in trees(source):
        lines = path.read_text(encoding="utf-8").count("\n")
        if lines > LONGEST_FILE:
            faults.append(f"{name} has {lines} lines: split it")
        constructors = public_constructors(tree) if room in WITH_MANY_PARAMETERS else []
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [ast.unparse(base).split(".")[-1] for base in node.bases]
            if not isinstance(node, ast.FunctionDef) or room == "_loops":
                continue
            if code_lines(node) > LONGEST_FUNCTION:
                faults.append(f"{name}:{node.lineno} {node.name} has {code_lines(node)} code lines: split it")
            parameters = len([a for a in (*node.args.args, *node.args.kwonlyargs) if a.arg not in ("self", "cls")])
            if parameters > MOST_PARAMETERS and node not in constructors:
                faults.append(f"{name}:{node.lineno} {node.name} has {parameters} parameters: give it an object")
    for name in bases:
        if depth(name, bases) > DEEPEST:
            faults.append(f"{name} inherits {depth(name, bases)} deep: use a mixin or a part")
    return faults


def public_constructors(tree: ast.Module) -> list[ast.AST]:
    """The `__init__` of public classes."""
    public = [node for node in nodes(tree) if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    return [part for node in public for part in node.body if getattr(part, "name", "") == "__init__"]


def code_lines(node: ast.FunctionDef) -> int:
    """Lines of a function with code on them, without docstrings and blank lines."""
    covered = set()
    docs = {
        id(part.body[0]) for part in ast.walk(node) if isinstance(part, ast.FunctionDef) and ast.get_docstring(part)
    }
    for part in ast.walk(node):
        if isinstance(part, ast.stmt) and id(part) not in docs:
            inner = getattr(part, "body", None)
            covered |= {part.lineno} if inner else set(range(part.lineno, part.end_lineno + 1))
    return len(covered)


def depth(name: str, bases: dict[str, list[str]]) -> int:
    """Classes of this package from the root of a class down to it."""
    return 1 + max((depth(base, bases) for base in bases[name] if base in bases and base != name), default=0)


def name_faults(source: Path) -> list[str]:
    """Every file name that stands in two rooms, and every constant that stands in two files."""
    files, constants = {}, {}
    for path, name, _, tree in trees(source):
        if path.name not in ("__init__.py", "__main__.py", "base.py"):  # a room's contract is its base
            files.setdefault(path.name, []).append(name)
        for node in tree.body:
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
            for target in targets:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name) and part.id.isupper() and len(part.id) > 1:
                        constants.setdefault(part.id, []).append(name)
    kinds = ("the file name", files), ("the constant", constants)
    return [
        f"{kind} {key} is in {', '.join(places)}"
        for kind, found in kinds
        for key, places in found.items()
        if len(places) > 1
    ]


LONGEST_REPEAT = 5
"""Lines of code that two places in estimators may share to the letter."""


def repeat_faults(source: Path) -> list[str]:
    """Every longer run of lines that two estimators share, where one piece of code could serve both.

    Constructors repeat parameters, as scikit-learn asks for explicit ones, and so do signatures and docstrings.
    """
    places = {}
    for path, name, room, tree in trees(source):
        if room == "estimators":
            lines = statement_lines(path.read_text(encoding="utf-8"), tree)
            for i in range(len(lines) - LONGEST_REPEAT):
                run = tuple(text for _, text in lines[i : i + LONGEST_REPEAT + 1])
                places.setdefault(run, []).append(f"{name}:{lines[i][0]}")
    return [f"{' and '.join(where)} share six lines: write them once" for where in places.values() if len(where) > 1]


def statement_lines(text: str, tree: ast.Module) -> list[tuple[int, str]]:
    """The lines of code of a file, without imports, docstrings, constructors and signatures."""
    left_out = set()
    for node in nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) or getattr(node, "name", "") == "__init__":
            left_out |= set(range(node.lineno, node.end_lineno + 1))
        elif isinstance(node, ast.FunctionDef):
            left_out |= set(range(node.lineno, node.body[0].lineno))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out |= set(range(node.lineno, node.end_lineno + 1))
    lines = [(i, line.strip()) for i, line in enumerate(text.splitlines(), 1) if i not in left_out]
    return [(i, line) for i, line in lines if not line.startswith("#") and any(sign.isalnum() for sign in line)]


FAULTS = [
    import_faults,
    compiler_faults,
    door_faults,
    judged_faults,
    frozen_faults,
    size_faults,
    name_faults,
    repeat_faults,
]


@pytest.mark.parametrize("faults", FAULTS)
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


MANY = "def __init__(self, a, b, c, d, e, f, g, h, i): ..."
ROOMS = {
    "__init__.py": "from representer.kernels import RBF\nfrom representer.testing import check_kernel\n",
    "_loops/__init__.py": "",
    "_loops/jit.py": "from numba import njit\n",
    "_loops/radial.py": "from representer._loops.jit import njit\n",
    "_parallel.py": "import threading\n",
    "kernels/__init__.py": "from representer.kernels.base import RBF\n",
    "kernels/base.py": "from representer import _parallel\nfrom .._loops import radial\nfrom .algebra import Sum\n",
    "kernels/algebra.py": "def plot():\n    import matplotlib\n",
    "gram.py": "import representer.kernels.base\nfrom representer.kernels import RBF\n",
    "losses/hinge.py": "",
    "regularizers.py": "",
    "problems/loss.py": "from representer.losses.hinge import Hinge\n@dataclass(frozen=True)\nclass Problem: ...\n",
    "estimators/svm.py": f"class A:\n    {MANY}\n",
    "solvers/newton.py": "",
    "solvers/smo/__init__.py": "from representer.solvers.smo.small import name\n",
    "solvers/smo/small.py": "",
    "solvers/choose.py": "from representer.solvers import smo\nfrom representer.solvers.smo import name\n",
    "testing.py": "from representer.problems.loss import Problem\n",
}


@pytest.fixture
def house(tmp_path):
    return write(tmp_path / "representer", ROOMS)


def test_good_house_has_no_faults(house):
    for faults in FAULTS:
        assert faults(house) == []


LONG = "x = 1\n" * 401
SIX_LINES = "".join(f"    x = {i} * x\n" for i in range(6))
DEEP = (
    "class A:\n    pass\nclass B(A):\n    pass\nclass C(B):\n    pass\nclass D(C):\n    pass\nclass E(D):\n    pass\n"
)


@pytest.mark.parametrize(
    ("faults", "file", "text", "fault"),
    [
        (door_faults, "solvers/newton.py", "kernel.fill(A, B, tile)", "solvers/newton.py:1 calls kernel.fill"),
        (door_faults, "functions.py", "K = self.kernel.block(A)", "calls self.kernel.block: ask a Gram"),
        (door_faults, "psd.py", "tiles.block(kernel, A)", "calls tiles.block"),
        (door_faults, "functions.py", "isinstance(kernel, (int, Stationary))", "asks for Stationary"),
        (judged_faults, "estimators/pca.py", "c = Judgement([0.1])", "estimators/pca.py:1 builds a Judgement"),
        (judged_faults, "problems/loss.py", "Certificate(1)", "problems/loss.py:1 builds a Certificate"),
        (frozen_faults, "problems/loss.py", "@dataclass\nclass Problem:\n    n: int", "Problem is not frozen"),
        (
            frozen_faults,
            "solvers/newton.py",
            "def f(self):\n    self.problem.alpha = 1",
            "writes on self.problem.alpha",
        ),
        (frozen_faults, "solvers/newton.py", "def f(p: Problem):\n    p.y[0] += 1", "newton.py:2 writes on p.y"),
        (frozen_faults, "solvers/newton.py", "def f():\n    a = Problem()\n    a.n, b = 1, 2", "writes on a.n"),
        (size_faults, "psd.py", LONG, "psd.py has 401 lines"),
        (size_faults, "psd.py", "def f(x):\n" + "    x += 1\n" * 51, "f has 52 code lines"),
        (size_faults, "psd.py", "def f(a, b, c, d, e, f, g, *, h, i):\n    pass", "f has 9 parameters"),
        (size_faults, "psd.py", "class A:\n    " + MANY, "__init__ has 9 parameters"),
        (size_faults, "estimators/svm.py", "class _A:\n    " + MANY, "__init__ has 9 parameters"),
        (size_faults, "psd.py", DEEP, "E inherits 5 deep"),
        (
            repeat_faults,
            "estimators/svr.py",
            "def f(x):\n" + SIX_LINES + "    x = 0\n\n\ndef g(x):\n" + SIX_LINES,
            "six lines",
        ),
        (name_faults, "solvers/hinge.py", "", "the file name hinge.py is in losses/hinge.py, solvers/hinge.py"),
        (name_faults, "_loops/jit.py", "TILE = 1\nOTHER: int = 2", "the constant TILE is in _loops/jit.py, gram.py"),
    ],
)
def test_faults_are_found(house, faults, file, text, fault):
    write(house, {"gram.py": "TILE = 3\n"})
    write(house, {file: text})
    (found,) = faults(house)
    assert fault in found


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("kernels/base.py", "from representer.gram.tiled import Gram", "kernels does not come after gram"),
        ("kernels/base.py", "from ..gram import Gram", "kernels does not come after gram"),
        ("kernels/base.py", "import os, representer.gram.tiled", "kernels does not come after gram"),
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
            "def f():\n    from representer._parallel import walk",
            "gram.py:2 imports representer._parallel inside a",
        ),
        ("attic.py", "from representer.gram.tiled import Gram", "give attic a place"),
        ("solvers/newton.py", "from representer.solvers.smo import small", "import from representer.solvers.smo its"),
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
        ("from llvmlite import ir", "llvmlite"),
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

    (tmp_path / "tests/test_parallel.py").rename(tmp_path / "tests/test_blocks.py")
    assert mirror_faults(house, tmp_path / "tests") == [
        "_parallel.py has no test: write tests/test_parallel.py",
        "tests/test_blocks.py has no source file: name it after the file it tests",
    ]

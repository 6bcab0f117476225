"""`representer fit`: plan, progress, verdict, and a folder with model and report."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from representer.cli.main import MISSED, OK, STOPPED_BY_USER
from representer.cli.output import require_folder, require_free, teller, write_all
from representer.io import save
from representer.tables.effects import column_effects
from representer.tables.explained_rows import explained_rows
from representer.tables.fitting import Fitting, Job, TableFit, table_job
from representer.tables.machines import Effort, route_words
from representer.tables.outcome import Outcome
from representer.tables.reading import TableError, nearest, polars_library
from representer.tables.report import report_html, report_json, require_packages
from representer.tables.scores import score_names
from representer.tables.table_model import held_out_columns

FILES = ("model.repr", "report.html", "report.json", "test_predictions.csv", "fit.toml")
DEFAULTS: dict[str, Any] = {"time_limit": 300.0, "loss": "", "group": "", "seed": 0, "memory": "", "encoding": ""}
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZE = re.compile(r"^\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?B?)\s*$", re.IGNORECASE)
RELATION = re.compile(r"^\s*([\w ]+?)\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*$")


@dataclass(frozen=True)
class Decisions:
    """The decisions for a fit: the contents of fit.toml."""

    table: str
    target: str
    time_limit: float
    loss: str
    group: str
    seed: int
    memory: str
    encoding: str
    types: dict[str, str]

    @property
    def bytes(self) -> int | None:
        """The memory in bytes."""
        return bytes_of(self.memory) if self.memory else None

    def toml(self) -> str:
        """The contents of a file that --config reads, from any folder."""
        known = {**vars(self), "table": str(Path(self.table).absolute())}
        lines = ["# representer fit --config fit.toml repeats this fit"]
        lines += [f"{name} = {_toml(known[name])}" for name in ("table", "target", *DEFAULTS)]
        lines += ["", "[types]", *(f"{_toml(name)} = {_toml(kind)}" for name, kind in self.types.items())]
        return "\n".join(lines) + "\n"

    def command(self) -> str:
        """The command line that makes these decisions."""
        words = ["representer", "fit", self.table, "--target", self.target]
        for name, value in DEFAULTS.items():
            if getattr(self, name) != value:
                words += [f"--{name.replace('_', '-')}", f"{getattr(self, name)}"]
        words += [word for name, kind in self.types.items() for word in ("--type", f"{name}={kind}")]
        return shlex.join(words)


def run(options: Namespace) -> int:
    """Fit, or with --plan print what would be fitted."""
    decisions = decided(options)
    requirements = [required(text) for text in options.require]
    job = table_job(
        decisions.table,
        decisions.target,
        loss=decisions.loss or None,
        types=decisions.types,
        group=decisions.group or None,
        seed=decisions.seed,
        encoding=decisions.encoding or None,
    )
    require_scores(requirements, score_names(job.target))
    if options.plan:
        print(_plan_json(job, decisions) if options.json else plan_words(job, decisions))
        return OK
    out = Path(options.out or f"{Path(decisions.table).name.split('.')[0]}-fit")
    require_folder(out)
    require_free([out / name for name in FILES], options.force)
    require_packages()
    tell = teller(options.quiet)
    for line in plan_words(job, decisions).splitlines():
        tell(line)
    fit = Fitting(job, Effort(decisions.time_limit, decisions.seed, tell, decisions.bytes)).run()
    fit = replace(fit, outcome=_with_command(fit.outcome, decisions))
    try:
        written = write_folder(fit, job, decisions, out)
    except KeyboardInterrupt:  # the model is there; curves and explanations take most of the time
        tell("stopped: the report is written without curves of columns and explanations of rows")
        fit = replace(fit, stopped=True)
        written = write_folder(fit, job, decisions, out, curves=False)
    if options.json:
        print(fit.outcome.to_json(rows=False))
    else:
        print("\n".join([*fit.outcome.verdict, *finding_lines(fit.outcome), f"Written: {', '.join(written)}"]))
    return exit_code(fit, requirements, tell)


def decided(options: Namespace) -> Decisions:
    """The options, completed from --config, then from the defaults."""
    known = _config(options.config) if options.config else {}
    types = dict(known.get("types", {}))
    for text in options.type:
        name, equal, kind = text.rpartition("=")
        if not equal:
            raise TableError(f"--type {text!r} has no type; write it as --type COLUMN=category, say.")
        types[name] = kind
    found = {name: getattr(options, name) for name in ("table", "target", *DEFAULTS)}
    found = {name: known.get(name, DEFAULTS.get(name)) if value is None else value for name, value in found.items()}
    if not found["table"]:
        raise TableError("No table is given; write representer fit TABLE.csv --target COLUMN.")
    if not found["target"]:
        raise TableError("No target is given; name the column to predict by --target COLUMN.")
    if not found["time_limit"] > 0:
        raise TableError(f"--time-limit is {found['time_limit']:g}; give a number of seconds above zero.")
    if found["memory"]:
        bytes_of(found["memory"])
    return Decisions(**found, types=types)


def _config(path: str) -> dict[str, Any]:
    try:
        known = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TableError(f"{path} is not a fit.toml file: {error}.") from None
    names = ("table", "target", "types", *DEFAULTS)
    for name, value in known.items():
        if name not in names:
            raise TableError(f"{path} has the unknown setting {name!r}; " + nearest(name, names, "settings"))
        kind: Any = {"types": dict, "time_limit": int | float, "seed": int}.get(name, str)
        if not isinstance(value, kind):
            raise TableError(f"{path} has {name} = {value!r}, which is of the wrong type for {name}.")
    return known


def bytes_of(text: str) -> int:
    """The bytes of a size such as 500MB or 4GB."""
    found = SIZE.match(text)
    if not found:
        raise TableError(f"--memory is {text!r}; write it as 500MB or 4GB.")
    unit = found[2].upper()
    return int(float(found[1]) * UNITS[unit if unit in UNITS else unit + "B"])


def required(text: str) -> tuple[str, str, float]:
    """Score, relation and value of a requirement such as R2>=0.8."""
    found = RELATION.match(text)
    if not found:
        raise TableError(f"--require {text!r} is not understood; write it as 'R2>=0.8'.")
    return found[1], found[2], float(found[3])


def require_scores(requirements: list[tuple[str, str, float]], names: list[str]) -> None:
    """Raise before a long fit if a required score will not be available."""
    for name, _, _ in requirements:
        if name.lower() not in map(str.lower, names):
            raise TableError(f"There is no score {name!r} to require; the scores are {', '.join(names)}.")


def exit_code(fit: TableFit, requirements: list[tuple[str, str, float]], tell: Any) -> int:
    """0, 3 where a requirement is missed or the fit did not converge, 130 where it was stopped."""
    scores = {each.metric.lower(): each.value for each in fit.outcome.scores}
    relations = {">=": float.__ge__, "<=": float.__le__, ">": float.__gt__, "<": float.__lt__}
    missed = not fit.outcome.converged
    for name, relation, value in requirements:
        if not relations[relation](float(scores[name.lower()]), value):
            tell(f"missed: {name} is {scores[name.lower()]:.4g}, and {relation} {value:g} is required")
            missed = True
    if fit.stopped:
        return STOPPED_BY_USER
    return MISSED if missed else OK


def write_folder(fit: TableFit, job: Job, decisions: Decisions, out: Path, curves: bool = True) -> list[str]:
    """Write all files of a fit, complete, or none; the model is renamed last, so that it always has its report."""
    frame = polars_library().DataFrame(held_out_columns(fit.outcome, job.target.quantiles))
    effects = column_effects(fit, job.frame, job.seed) if curves else ()
    explained = explained_rows(fit, job.table.frame) if curves else ()
    contents: dict[str, Any] = {
        "fit.toml": decisions.toml(),
        "test_predictions.csv": frame.write_csv,
        "report.html": report_html(fit.outcome, effects, explained),
        "report.json": report_json(fit.outcome, effects, explained),
        "model.repr": lambda beside: save(fit.model, beside),
    }
    write_all(out, contents)
    return [str(out / name) for name in FILES]


def plan_words(job: Job, decisions: Decisions) -> str:
    """What a fit would do: columns, rows set aside and route."""
    width = max(map(len, job.types))
    notes = job.plan.notes(job.types)
    lines = [f"{len(job.table):,} rows of {decisions.table}; {job.target.task} of {job.target.name!r}"]
    for each in notes:
        what = "the target" if each.name == job.target.name else each.treatment
        what = "defines the groups" if each.name == job.group else what
        lines.append(f"  {each.name:<{width}}  {each.type:<8}  {each.why}; {what}")
    lines.append(f"Judged as follows: {job.split.words}.")
    return "\n".join([*lines, route_words(job.target, len(job.y), decisions.time_limit, decisions.bytes)])


def _plan_json(job: Job, decisions: Decisions) -> str:
    columns = [
        {"name": n.name, "type": n.type, "why": n.why, "treatment": n.treatment} for n in job.plan.notes(job.types)
    ]
    route = route_words(job.target, len(job.y), decisions.time_limit, decisions.bytes)
    facts = {"task": job.target.task, "target": job.target.name, "rows": len(job.table), "columns": columns}
    return json.dumps({**facts, "split": job.split.words, "route": route}, indent=2, ensure_ascii=False)


def finding_lines(outcome: Outcome) -> list[str]:
    """Problems of the data, one line each."""
    return [f"{'Warning' if each.serious else 'Note'}: {each.sentence}" for each in outcome.findings]


def _with_command(outcome: Outcome, decisions: Decisions) -> Outcome:
    return replace(outcome, reproduce={**outcome.reproduce, "command": decisions.command()})


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)

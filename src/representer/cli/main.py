"""The command line: its options, and the meaning of its exit codes.

Only the command that runs is imported, so that help and completion are fast.
"""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from importlib import import_module

OK, BUG, BAD_INPUT, MISSED, STOPPED_BY_USER = 0, 1, 2, 3, 130
EXIT_CODES = """exit codes:
  0    done
  1    a bug in representer
  2    bad input, explained in a sentence on stderr; nothing was written
  3    the fit did not converge, or missed --require
  130  stopped by Ctrl-C; what was found so far is written
"""
FIT_EXAMPLES = """examples:
  representer fit houses.csv --target price --out out/
  representer fit sales.csv --target units --loss poisson --group shop
  representer fit people.csv --target income --type zip=category --time-limit 600
  representer fit houses.csv --target price --require 'R2>=0.8' --json
  representer fit --config out/fit.toml --out again/

out/ then holds model.repr, report.html, report.json, test_predictions.csv and fit.toml.
"""
PREDICT_EXAMPLES = """examples:
  representer predict out/model.repr new.csv -o predictions.csv
  representer predict out/model.repr new.parquet --json > predictions.json
"""
EXPLAIN_EXAMPLES = """examples:
  representer explain out/model.repr new.csv --row 17
  representer explain out/model.repr new.csv --row 17 --top 10 --json
"""
INFO_EXAMPLES = """examples:
  representer info out/model.repr
  representer info out/model.repr --json
"""
DEMO_EXAMPLES = """examples:
  representer demo
  representer demo --out somewhere/ --time-limit 60
"""
COMPLETION_EXAMPLES = """examples:
  eval "$(representer completion bash)"                             # in ~/.bashrc
  eval "$(representer completion zsh)"                              # in ~/.zshrc
  representer completion fish > ~/.config/fish/completions/representer.fish
"""
COMMANDS = ("fit", "predict", "explain", "info", "demo", "completion")


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    raw = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(
        prog="representer",
        description="From a table to an honest, explained, saved model. Results go to stdout, progress to stderr.",
        epilog=EXIT_CODES + "\nexample: representer demo",
        formatter_class=raw,
    )
    commands = made.add_subparsers(dest="command", metavar="{" + ",".join(COMMANDS) + "}", required=True)

    def command(name: str, words: str, examples: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=words, description=words, epilog=examples, formatter_class=raw)

    _fit_options(command("fit", "Fit and judge a model of a column of a table.", FIT_EXAMPLES + "\n" + EXIT_CODES))
    words = "Predict for the rows of a table: prediction, std, lower, upper, unfamiliar."
    predict = command("predict", words, PREDICT_EXAMPLES)
    predict.add_argument("model", help="the model.repr of a fit")
    predict.add_argument("table", help="CSV or Parquet with the columns of the fit")
    predict.add_argument("-o", "--out", help="file for the predictions (default: stdout)")
    predict.add_argument("--force", action="store_true", help="replace an older file")
    explain = command("explain", "Show what training rows and columns contribute to a prediction.", EXPLAIN_EXAMPLES)
    explain.add_argument("model", help="the model.repr of a fit")
    explain.add_argument("table", help="CSV or Parquet with the columns of the fit")
    explain.add_argument("--row", type=int, default=1, help="number of the row, from 1")
    explain.add_argument("--top", type=int, default=5, help="training rows to show")
    info = command("info", "Show what a model file holds.", INFO_EXAMPLES)
    info.add_argument("model", help="the model.repr of a fit")
    for each in (predict, explain):
        each.add_argument("--encoding", help="of a CSV file, such as latin-1 (default: recognised)")
    for each in (predict, explain, info):
        each.add_argument("--json", action="store_true", help="the result as JSON")
    words = "Fit, judge and explain a table that comes with the library, in under a minute."
    demo = command("demo", words, DEMO_EXAMPLES)
    demo.add_argument("--out", default="representer-demo", help="folder for the files (default: %(default)s)")
    demo.add_argument("--time-limit", type=float, default=25.0, help="seconds (default: %(default)s)")
    demo.add_argument("--quiet", action="store_true", help="no progress")
    shell = command("completion", "Print a shell completion script.", COMPLETION_EXAMPLES)
    shell.add_argument("shell", choices=("bash", "zsh", "fish"))
    return made


def _fit_options(fit: argparse.ArgumentParser) -> None:
    fit.add_argument("table", nargs="?", help="CSV (any separator, plain or gz) or Parquet")
    fit.add_argument("--target", help="the column to predict")
    fit.add_argument("--out", help="folder for the files (default: the name of the table with -fit)")
    fit.add_argument("--time-limit", type=float, help="seconds of search (default: 300)")
    fit.add_argument("--loss", help="squared, huber, poisson, quantiles or quantiles:0.1,0.5,0.9")
    fit.add_argument("--type", action="append", default=[], metavar="COLUMN=TYPE", help="number, category, date, "
                     "text, sequence or skipped; may be repeated")  # fmt: skip
    fit.add_argument("--group", help="a column whose groups are set aside as a whole")
    fit.add_argument("--encoding", help="of a CSV file, such as latin-1 (default: recognised)")
    fit.add_argument("--memory", help="memory in addition to the table, such as 4GB (default: the machine's)")
    fit.add_argument("--seed", type=int, help="random seed (default: 0)")
    fit.add_argument("--config", help="a fit.toml whose decisions are repeated; options take precedence")
    fit.add_argument(
        "--require", action="append", default=[], metavar="SCORE", help="such as 'R2>=0.8'; exit 3 if missed"
    )
    fit.add_argument("--plan", action="store_true", help="print what would be done, without fitting")
    fit.add_argument("--json", action="store_true", help="the result as JSON")
    fit.add_argument("--force", action="store_true", help="replace older files")
    fit.add_argument("--quiet", action="store_true", help="no progress")


def _sentence(error: Exception) -> str:
    """What was wrong, and what to do."""
    if isinstance(error, MemoryError):
        return f"There is not enough memory ({error}); set a smaller --memory, or give fewer rows."
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    if isinstance(error, FileNotFoundError):
        return f"There is no file or folder {error.filename}; correct the path."
    if isinstance(error, PermissionError):
        return f"You may not read or write {error.filename}; choose another place, or change its permissions."
    return f"{error.filename} cannot be used: {error.strerror}; choose another place."


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit code says how it ended."""
    options = parser().parse_args(arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _run(options)


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    """A warning as one line, without its location in the code."""
    print(f"warning: {message}", file=sys.stderr)


def _run(options: argparse.Namespace) -> int:
    bad_input: tuple[type[Exception], ...] = ()
    try:
        errors = import_module("representer.tables.reading")
        bad_input = (errors.TableError, import_module("representer.io").LoadError, ImportError, OSError, MemoryError)
        return int(import_module(f"representer.cli.{options.command}_command").run(options))
    except KeyboardInterrupt:
        print("representer: stopped; nothing was written.", file=sys.stderr)
        return STOPPED_BY_USER
    except BrokenPipeError:
        return OK
    except bad_input as error:
        print(f"representer: {_sentence(error)}", file=sys.stderr)
        return BAD_INPUT
    except Exception:
        traceback.print_exc()
        print("representer: this is a bug; please report it with the lines above.", file=sys.stderr)
        return BUG

"""Bad input, kind by kind: one message that names the place and the way out, and nothing lost.

Each attempt runs through `run_here`, as the scripts of the workflow do. The rows of
`docs/bad_input.md` are written from here (`THINKPRIOR_WRITE_DOCS=1`).
"""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.bad_input import Row, check_page, message_of, snapshot

from thinkprior import configuration, plans
from thinkprior.forkserver import run_here
from thinkprior.problems import Problem, write_problems
from thinkprior.verification import Verdict, Verifier

SMALL = configuration.load(Path(__file__).parent / "small.yaml")
IDS = [f"p{number}" for number in range(20)]
DELETE = object()

Attempt = tuple[str, dict[str, Any]]
"""A function by name and its arguments."""


@dataclass(frozen=True)
class Case:
    """One bad input: its kind, what was done, what the message must hold, and how it is tried."""

    kind: str
    done: str
    says: str
    prepare: Callable[[Path], Attempt]


# --- Configuration --------------------------------------------------------------------------------


def changed(changes: dict[str, object]) -> dict[str, Any]:
    values = copy.deepcopy(SMALL)
    for key, value in changes.items():
        section: Any = values
        *path, last = key.split(".")
        for part in path:
            section = section[part]
        if value is DELETE:
            del section[last]
        else:
            section[last] = value
    return values


def setting(done: str, says: str, **changes: object) -> Case:
    def prepare(folder: Path) -> Attempt:
        values = changed({key.replace("__", "."): value for key, value in changes.items()})
        (folder / "my.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        return "thinkprior.configuration:read", {"path": folder / "my.yaml"}

    return Case("configuration", done, r"my\.yaml: \d fault.*\n.*" + says, prepare)


def text(done: str, says: str, content: bytes) -> Case:
    def prepare(folder: Path) -> Attempt:
        (folder / "my.yaml").write_bytes(content)
        return "thinkprior.configuration:read", {"path": folder / "my.yaml"}

    return Case("configuration", done, r"my\.yaml: .*" + says, prepare)


def missing_file(folder: Path) -> Attempt:
    return "thinkprior.configuration:read", {"path": folder / "none.yaml"}


CONFIGURATIONS = [
    setting("a key misspelt at the top", "did you mean 'training'", trainning={}),
    setting("a key misspelt in a section", "did you mean 'group_size'", training__groupsize=8),
    setting("a key misspelt deeper", "did you mean 'rank'", training__lora__ranks=8),
    setting("a key misspelt in a named entry", "'selector'", arms__random__selektor="uniform"),
    setting("a key left out", r"training\.group_size: missing", training__group_size=DELETE),
    setting("a word for a number", "learning_rate.*'fast'", training__learning_rate="fast"),
    setting("a number with a fraction for a count", "8.5", training__group_size=8.5),
    setting("`yes` for a count", "true or false.*found True", training__batch_prompts=True),
    setting("a list for a section", r"prior: .*found \[4\]", prior=[4]),
    setting("nothing for a section", "training: .*found None", training=None),
    setting("G = 1", r"training\.group_size: .*2, found 1", training__group_size=1),
    setting("B above the pool", "holds 20 problems, fewer", training__batch_prompts=21),
    setting(
        "refill rounds times B above the pool",
        r"fewer than the 24 .*most_refill_rounds = 3",
        training__most_refill_rounds=3,
    ),
    setting("kappa = 0", r"prior\.kappa: .*found 0", prior__kappa=0),
    setting("kappa below 0", r"prior\.kappa: .*found -4", prior__kappa=-4),
    setting("kappa not a number", r"prior\.kappa: .*found nan", prior__kappa=float("nan")),
    setting("an infinite rate", "learning_rate.*found inf", training__learning_rate=float("inf")),
    setting("a share above 1", "length_fit_share.*found 1.5", prior__length_fit_share=1.5),
    setting("a negative KL weight", "kl_beta.*found -0.1", campaigns__main__kl_beta=-0.1),
    setting("a seed twice", "seeds: 0 stands there twice", campaigns__main__seeds=[0, 1, 0]),
    setting("a negative seed", r"seeds\.0: .*found -1", campaigns__main__seeds=[-1]),
    setting("an arm twice", "arms: random stands", campaigns__main__arms=["random", "random"]),
    setting("a campaign without arms", "arms: .*at least 1", campaigns__main__arms=[]),
    setting("a campaign without seeds", "seeds: .*at least 1", campaigns__main__seeds=[]),
    setting("an unknown arm", "did you mean 'thinkprior'", campaigns__main__arms=["thinkprio"]),
    setting("an unknown policy", "did you mean 'policy'", campaigns__main__policy="polcy"),
    setting("an unknown step of a model", r"only \[50, 100\]", campaigns__main__policy="policy@7"),
    setting("an unknown pool", "did you mean 'pool20'", campaigns__main__pool="pool2"),
    setting("an unknown prior", "'oracle', found 'best'", arms__random__prior="best"),
    setting("an unknown selector", "'frozen_band', found 'x'", arms__random__selector="x"),
    setting("an unknown engine", "engine.name: .*found 'vlm'", engine__name="vlm"),
    setting(
        "a pool named as a path", r"pools\.\.\./x", data__pools={"../x": {"size": 9, "seed": 0}}
    ),
    setting("a template without a problem", "template: {problem}", prompting__template="Solve:"),
    setting(
        "a policy that is a respondent too",
        "would leak into the item bank",
        probing__respondents={"policy": [50]},
    ),
    setting("an item bank without respondents", "needs an item bank", probing__respondents={}),
    setting("heads that do not divide the width", "no multiple", models__policy__hidden_size=33),
    setting("no benchmark along the run", "math500 is needed", data__benchmarks={}),
    text("a key twice in the file", "line 4: key 'kappa' stands there twice",
         b"scale: a\nprior:\n  kappa: 4\n  kappa: 5\n"),
    text("an empty file", "expected a mapping of keys, found NoneType", b""),
    text("a list at the top", "expected a mapping of keys, found list", b"- a\n"),
    text("no YAML", "not readable as YAML: .*line 1", b"a: [1"),
    text("brackets a thousand deep", "not readable as YAML", b"a: " + b"[" * 1200),
    text("not UTF-8", "not readable as YAML: .*utf-8", "note: é".encode("latin-1")),
    Case("configuration", "no such file", r"none\.yaml: no such file", missing_file),
]  # fmt: skip


# --- Data -----------------------------------------------------------------------------------------


def row(**changes: object) -> str:
    return json.dumps({"id": "a", "problem": "1 + 1", "answer": "2", **changes})


def problems_file(done: str, says: str, content: str | bytes) -> Case:
    def prepare(folder: Path) -> Attempt:
        data = content if isinstance(content, bytes) else content.encode()
        (folder / "pool.jsonl").write_bytes(data)
        return "thinkprior.problems:read_problems", {"path": folder / "pool.jsonl"}

    return Case("data", done, r"pool\.jsonl.*" + says, prepare)


def no_problem_file(folder: Path) -> Attempt:
    return "thinkprior.problems:read_problems", {"path": folder / "none.jsonl"}


def pool_of(problems: list[Problem], size: int = 4) -> Callable[[Path], Attempt]:
    """Draws a pool over one that is there already, which must stay."""

    def prepare(folder: Path) -> Attempt:
        write_problems(folder / "source.jsonl", problems)
        write_problems(folder / "math500.jsonl", [Problem("m", "Compute 3.", "3", 1, "Algebra")])
        (folder / "pool.jsonl").write_text("an older pool", encoding="utf-8")
        arguments = {
            "settings": {"size": size, "seed": 0},
            "source": folder / "source.jsonl",
            "benchmarks": {"math500": folder / "math500.jsonl"},
            "pool": folder / "pool.jsonl",
        }
        return "thinkprior.stages.problems:make_pool", arguments

    return prepare


LEVELLED = [Problem(f"s{n}", f"Compute {n}.", str(n), 1, "Algebra") for n in range(6)]
UNLEVELLED = [Problem(f"s{n}", f"Compute {n}.", str(n)) for n in range(6)]

DATA = [
    problems_file("a last line cut off", "line 2: not JSON.*cut off", row() + '\n{"id": "b", "pr'),
    problems_file("Latin-1", "not UTF-8.*Save the file as UTF-8", '{"id": "é"}'.encode("latin-1")),
    problems_file("an id twice", "line 2: id 'a' stands already in line 1", row() + "\n" + row()),
    problems_file("an empty gold", "line 1: field 'answer' must be a non-empty", row(answer=" ")),
    problems_file("no gold", "line 1: field 'answer' .*found None", '{"id": "a", "problem": "x"}'),
    problems_file("a number for an id", "line 1: field 'id' .*found 7", row(id=7)),
    problems_file("a word for a level", "line 1: field 'level' .*found 'hard'", row(level="hard")),
    problems_file("a line that is a list", "line 1: expected a JSON object, found list", "[1]"),
    problems_file("an empty file", "no problems", ""),
    problems_file("an id with a line end", r"line 1: id 'a\\nerror: all", row(id="a\nerror: all")),
    problems_file("an id that turns the writing", r"id 'a\\u202eb'", row(id="a\u202eb")),
    problems_file("half of a surrogate pair", "field 'problem' holds half", row(problem="\ud835")),
    Case("data", "no such file", r"none\.jsonl: No such file", no_problem_file),
    Case("data", "no levels, where a pool needs them", r"source\.jsonl: .*holds 0 with a level",
         pool_of(UNLEVELLED)),
    Case("data", "a pool above the source", r"a pool of 9 .*holds 6", pool_of(LEVELLED, 9)),
    Case("data", "a benchmark problem in the pool", r"shares 1 problem.*math500\.jsonl: 's3' = 'm'",
         pool_of(LEVELLED, 6)),
]  # fmt: skip


# --- Priors ---------------------------------------------------------------------------------------


def prior_rows() -> list[str]:
    return ["problem_id,phi", *(f"{name},0.5" for name in IDS)]


def prior(done: str, says: str, change: Callable[[list[str]], list[str]]) -> Case:
    def prepare(folder: Path) -> Attempt:
        path = folder / "anchor.csv"
        path.write_text("\n".join(change(prior_rows())) + "\n", encoding="utf-8")
        return "thinkprior.priors:read_prior", {"path": path, "problem_ids": IDS}

    return Case("prior", done, r"anchor\.csv: .*" + says, prepare)


def second_phi(value: str) -> Callable[[list[str]], list[str]]:
    return lambda rows: [*rows[:2], f"p1,{value}", *rows[3:]]


PRIORS = [
    prior("a prompt missing", "no row for 1 id.*'p0'.*Make the prior from this pool again",
          lambda rows: [rows[0], *rows[2:]]),
    prior("a prompt of another pool", "rows for 1 id.*'q'", lambda rows: [*rows, "q,0.5"]),
    prior("a prompt twice", "more than one row for .*'p3'", lambda rows: [*rows, "p3,0.5"]),
    prior("NaN", r"in \[0, 1\]; it is not for 1 id\(s\): 'p1'", second_phi("nan")),
    prior("an infinite value", r"in \[0, 1\].*'p1'", second_phi("inf")),
    prior("a value above 1", r"in \[0, 1\].*'p1'", second_phi("1.01")),
    prior("a value below 0", r"in \[0, 1\].*'p1'", second_phi("-0.01")),
    prior("a word", r"in \[0, 1\].*'p1'", second_phi("high")),
    prior("an empty value", r"in \[0, 1\].*'p1'", second_phi("")),
    prior("other columns", "no column 'problem_id'", lambda rows: ["id,rate", *rows[1:]]),
    prior("an empty file", "not readable as CSV", lambda rows: []),
]  # fmt: skip


# --- Artifacts ------------------------------------------------------------------------------------


def responses_of(ids: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        [{"problem_id": i, "sample": s, "correct": s == 0} for i in ids for s in range(2)]
    )


def responses(
    done: str, says: str, spoil: Callable[[pd.DataFrame, Path], object]
) -> Case:  # fmt: skip
    """Makes a prior of responses that are spoiled, over a prior that is there and must stay."""

    def prepare(folder: Path) -> Attempt:
        write_problems(folder / "pool.jsonl", [Problem(i, f"Compute {i}.", "1") for i in IDS])
        (folder / "prior.csv").write_text("an older prior", encoding="utf-8")
        spoil(responses_of(IDS), folder / "anchor.parquet")
        arguments = {
            "pool": folder / "pool.jsonl",
            "responses": folder / "anchor.parquet",
            "prior": folder / "prior.csv",
        }
        return "thinkprior.stages.priors:make_pass_rate_prior", arguments

    return Case("artifact", done, r"anchor\.parquet: .*" + says, prepare)


def cut(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False)
    path.write_bytes(path.read_bytes()[:-30])


def flipped(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False)
    data = bytearray(path.read_bytes())
    data[4:60] = b"\xff" * 56
    path.write_bytes(bytes(data))


def metrics(done: str, says: str, spoil: Callable[[Path], object]) -> Case:
    """Gathers the metrics of a run whose groups log or scores are spoiled."""

    def prepare(folder: Path) -> Attempt:
        steps = range(1, 11)
        pd.DataFrame(
            {
                **{"step": steps, "round": 0, "position": 0, "problem_id": "p1", "rollouts": 8},
                **{"correct": 4, "tokens": 10, "used": True},
            }
        ).to_parquet(folder / "groups.parquet")
        pd.DataFrame({"step": steps, "shortfall": 0}).to_parquet(folder / "steps.parquet")
        (folder / "scores.csv").write_text(
            "step,benchmark,subset,problems,correct,accuracy\n10,math500,all,2,1,0.5\n"
            "10,math500,level5,2,1,0.5\n"
        )
        spoil(folder)
        arguments = {
            **{"campaign": "main", "runs": [("random", 0)], "groups": [folder / "groups.parquet"]},
            **{"steps": [folder / "steps.parquet"], "scores": [folder / "scores.csv"]},
            **{"run_table": folder / "runs.csv", "step_table": folder / "by_step.csv"},
            "checkpoint_table": folder / "checkpoints.csv",
        }
        return "thinkprior.stages.metrics:gather_metrics", arguments

    return Case("artifact", done, says, prepare)


def without_correct(folder: Path) -> None:
    table = pd.read_parquet(folder / "groups.parquet").drop(columns="correct")
    table.to_parquet(folder / "groups.parquet")


def verify(done: str, says: str, content: str | None) -> Case:
    def prepare(folder: Path) -> Attempt:
        if content is not None:
            (folder / "records").mkdir()
            (folder / "records" / "train.json").write_text(content, encoding="utf-8")
        return "thinkprior.stages.integrity:verify_scale", {"folder": str(folder)}

    return Case("artifact", done, says, prepare)


def bank(folder: Path) -> Attempt:
    write_problems(folder / "pool.jsonl", [Problem(i, f"Compute {i}.", "1") for i in IDS])
    (folder / "bank.csv").write_text("problem_id,discrimination,difficulty\nq,1,0\n")
    arguments = {"sharpening": 1, "pool": folder / "pool.jsonl", "bank": folder / "bank.csv"}
    return "thinkprior.stages.priors:make_bank_prior", {**arguments, "prior": folder / "prior.csv"}


ARTIFACTS = [
    responses("a Parquet file cut off", "not readable as Parquet.*made anew", cut),
    responses("bytes of a Parquet file overwritten", "not readable as Parquet", flipped),
    responses("an empty Parquet file", "not readable as Parquet", lambda t, p: p.write_bytes(b"")),
    responses("responses of another pool", "missing .*extra .*'q0'",
              lambda t, p: responses_of([f"q{n}" for n in range(20)]).to_parquet(p)),
    responses("a response missing", "2 answers a problem, but not for .*'p0'",
              lambda t, p: t.iloc[1:].to_parquet(p)),
    responses("responses without verdicts", "no column 'correct'",
              lambda t, p: t.drop(columns="correct").to_parquet(p)),
    Case("artifact", "an item bank of another scale", r"bank\.csv: its items are not", bank),
    metrics("a groups log without a column", r"groups\.parquet: no column 'correct'",
            without_correct),
    metrics("scores of another layout", r"scores\.csv: no column 'benchmark', 'subset'",
            lambda f: f.joinpath("scores.csv").write_text("step,problems,correct,accuracy\n")),
    metrics("a groups log that is gone", r"groups\.parquet: No such file",
            lambda f: f.joinpath("groups.parquet").unlink()),
    verify("a folder without records", "no records, so nothing to verify", None),
]  # fmt: skip


# --- Trying them ----------------------------------------------------------------------------------

PLAIN = [*CONFIGURATIONS, *DATA, *PRIORS, *ARTIFACTS]
ROWS: list[Row] = []
"""What the tests of this module produced so far."""


def refused(case: Case, folder: Path, capfd: pytest.CaptureFixture[str]) -> str:
    """Tries a case; its message, once it is one, ends in a failure, and changes no file."""
    function, arguments = case.prepare(folder)
    before = snapshot(folder)
    capfd.readouterr()
    status = run_here(function, arguments)
    message = message_of(capfd.readouterr().err, folder)
    assert status == 1
    assert re.search(case.says, message, re.DOTALL), message
    assert snapshot(folder) == before
    ROWS.append((case.kind, case.done, message))
    return message


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: f"{case.kind}: {case.done}")
def test_bad_input_is_one_message_and_changes_nothing(
    case: Case, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refused(case, tmp_path, capfd)


# --- Models ---------------------------------------------------------------------------------------


def one_run(folder: Path, results: Path | None = None) -> Attempt:
    """A run of one step over the model directory in a folder."""
    values = changed({"campaigns.main.steps": 1})
    config = configuration.parse(values, "small.yaml")
    write_problems(folder / "pool.jsonl", [Problem(i, f"compute {i}", "1") for i in IDS])
    (folder / "anchor.csv").write_text("\n".join(prior_rows()) + "\n", encoding="utf-8")
    out = results or folder / "results"
    out.mkdir(exist_ok=True)
    names = {"groups": "parquet", "steps": "parquet", "timings": "parquet", "manifest": "json"}
    return "thinkprior.stages.runs:train_run", {
        "settings": plans.run_settings(config, "main", "thinkprior", 0),
        "code": "c0de",
        "policy": folder / "model",
        "pool": folder / "pool.jsonl",
        "prior": folder / "anchor.csv",
        "benchmarks": {},
        "outputs": {
            **{name: out / f"{name}.{ending}" for name, ending in names.items()},
            "checkpoints": out / "checkpoints",
        },
        "state": folder / "state" / "run",
        "state_every": 1,
        "log": str(folder / "run.log"),
    }


def with_model(done: str, says: str, spoil: Callable[[Path], object]) -> Case:
    def prepare(folder: Path) -> Attempt:
        spoil(folder / "model")
        return one_run(folder)

    return Case("model", done, says, prepare)


def without(name: str) -> Callable[[Path], object]:
    return lambda model: (model / name).unlink()


def halved(name: str) -> Callable[[Path], object]:
    def spoil(model: Path) -> None:
        data = (model / name).read_bytes()
        (model / name).write_bytes(data[: len(data) // 2])

    return spoil


def without_a_layer(model: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(model / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if "layers.1.mlp" not in name}
    save_file(kept, model / "model.safetensors", metadata={"format": "pt"})


def other_rank(folder: Path) -> Attempt:
    from thinkprior.adapters import Lora, add_adapter
    from thinkprior.models import load_model

    policy = add_adapter(load_model(folder / "model"), Lora(2, 4.0), seed=0)
    policy.save_pretrained(folder / "checkpoints" / "step-00000")
    config = configuration.parse(SMALL, "small.yaml")
    write_problems(folder / "math500.jsonl", [Problem("m", "compute", "3", 1, "Algebra")])
    return "thinkprior.stages.evaluations:evaluate_run", {
        "settings": plans.evaluation_settings(config, "main/thinkprior/seed0"),
        "code": "c0de",
        "policy": folder / "model",
        "checkpoints": folder / "checkpoints",
        "benchmarks": {"math500": folder / "math500.jsonl"},
        "scores": folder / "scores.csv",
        "answers": folder / "answers.parquet",
        "state": folder / "state" / "evaluate",
        "training_state": folder / "state" / "train",
        "log": str(folder / "evaluate.log"),
    }


def on_a_gpu(folder: Path) -> Attempt:
    function, arguments = one_run(folder)
    arguments["settings"]["engine"]["device"] = "cuda"
    return function, arguments


MODELS = [
    with_model("no model", r"model: no config\.json there.*made or fetched anew", shutil.rmtree),
    with_model("no weights", "model: it cannot be loaded: .*no file named",
               without("model.safetensors")),
    with_model("weights cut off", "model: it cannot be loaded", halved("model.safetensors")),
    with_model("weights without a layer", r"model: 3 weights .*layers\.1\.mlp", without_a_layer),
    with_model("no tokenizer", r"model: no tokenizer\.json there", without("tokenizer.json")),
    with_model("a tokenizer cut off", r"tokenizer\.json: it cannot be loaded",
               halved("tokenizer.json")),
    with_model("a configuration cut off", "model: it cannot be loaded", halved("config.json")),
    Case("model", "an adapter of another rank", r"adapter_model\.safetensors: .*another rank",
         other_rank),
]  # fmt: skip


def kept(before: dict[str, str], after: dict[str, str]) -> bool:
    return all(after.get(path) == digest for path, digest in before.items())


@pytest.mark.parametrize("case", MODELS, ids=lambda case: case.done)
def test_a_model_that_cannot_be_used(
    case: Case, model_directory: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert model_directory == tmp_path / "model"
    failed(case.kind, case.done, case.says, case.prepare(tmp_path), tmp_path, capfd)


def test_a_device_that_is_not_there(
    model_directory: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    failed("device", "a GPU that is not there", "engine.device: .*no GPU",
           on_a_gpu(tmp_path), tmp_path, capfd)  # fmt: skip


# --- Memory and disks -----------------------------------------------------------------------------


def failed(
    kind: str, done: str, says: str, attempt: Attempt, folder: Path, capfd: Any, *others: Path
) -> None:
    """As `refused`, for a job that gets far enough to write a log or a state of its own."""
    before = snapshot(folder)
    capfd.readouterr()
    status = run_here(*attempt)
    printed = capfd.readouterr().err
    message = message_of(printed, *others, folder)
    assert status == 1
    assert re.search(says, message), message
    assert kept(before, snapshot(folder))
    # Someone who reads the log of the job finds it too.
    log = attempt[1].get("log")
    assert log is None or message.partition(" ")[2][:30] in _unplaced(log, folder, *others)
    ROWS.append((kind, done, re.sub(r"\d+\.\d MB", "0.0 MB", message)))


def _unplaced(log: str, *folders: Path) -> str:
    text = Path(log).read_text(encoding="utf-8")
    for folder in sorted(folders, key=lambda one: -len(str(one))):
        text = text.replace(f"{folder}/", "")
    return text


def test_an_update_without_memory_names_what_to_lower(
    model_directory: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    def hungry(*_: Any, **__: Any) -> Any:
        torch.empty(2**50, dtype=torch.uint8)  # A real refusal of the allocator.

    monkeypatch.setattr("thinkprior.training.backpropagate", hungry)
    says = r"lower training\.groups_per_batch \(now 8\)"
    failed("memory", "an update for which there is too little memory", says,
           one_run(tmp_path), tmp_path, capfd)  # fmt: skip


@contextmanager
def disk(place: Path, left: int) -> Iterator[None]:
    """A file system in memory with so many bytes left; none at all: one that is read-only."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        if left:
            (place / "filling").write_bytes(bytes(2**20 - left))
        else:
            remount = ["mount", "-o", "remount,ro", str(place)]
            subprocess.run(remount, check=True, capture_output=True)
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


DISKS = [("a full disk", 8192, "No space left on device"), ("a read-only folder", 0, "Read-only")]


@pytest.mark.parametrize(("what", "left", "says"), DISKS, ids=lambda value: str(value))
def test_a_run_whose_state_cannot_be_written(
    what: str,
    left: int,
    says: str,
    model_directory: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with disk(tmp_path / "disk", left):
        function, arguments = one_run(tmp_path)
        arguments["state"] = tmp_path / "disk" / "state"
        failed("disk", f"{what} for the state of a run", says, (function, arguments),
               tmp_path, capfd)  # fmt: skip


@pytest.mark.parametrize(("what", "left", "says"), DISKS, ids=lambda value: str(value))
def test_a_run_whose_results_cannot_be_written(
    what: str,
    left: int,
    says: str,
    model_directory: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with disk(tmp_path / "disk", left):
        failed("disk", f"{what} for the results of a run", says + ".*start again",
               one_run(tmp_path, tmp_path / "disk"), tmp_path, capfd)  # fmt: skip


@pytest.mark.parametrize(("what", "left", "says"), DISKS, ids=lambda value: str(value))
def test_a_prior_that_cannot_be_written(
    what: str, left: int, says: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ids = [f"p{number}" for number in range(2000)]
    write_problems(tmp_path / "pool.jsonl", [Problem(i, f"Compute {i}.", "1") for i in ids])
    responses_of(ids).to_parquet(tmp_path / "anchor.parquet")
    with disk(tmp_path / "disk", left):
        arguments = {
            "pool": tmp_path / "pool.jsonl",
            "responses": tmp_path / "anchor.parquet",
            "prior": tmp_path / "disk" / "prior.csv",
        }
        failed("disk", f"{what} for a prior", says + ".*start again",
               ("thinkprior.stages.priors:make_pass_rate_prior", arguments),
               tmp_path, capfd)  # fmt: skip


def test_parquet_on_a_full_disk(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame({"a": np.random.default_rng(0).random(10_000)})
    with disk(tmp_path / "disk", 8192):
        path = tmp_path / "disk" / "groups.parquet"
        assert run_here("tests.unit.test_bad_input:write_parquet", {"path": path, "f": frame}) == 1
        assert "No space left" in message_of(capfd.readouterr().err)


def write_parquet(path: Path, f: pd.DataFrame) -> None:
    f.to_parquet(path)


# --- Killed ---------------------------------------------------------------------------------------

CLIENT = """
import subprocess, sys
from pathlib import Path
from types import SimpleNamespace
from thinkprior import forkserver
from thinkprior.script import heavy

def start(path):  # As the module does it, but without the libraries that take seconds to import.
    code = (
        "import sys, pathlib; from thinkprior import forkserver as f; "
        "f.PRELOADED = (); f.serve(pathlib.Path(sys.argv[1]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

forkserver._start = start
forkserver.IDLE_SECONDS = 1
output = {"usage": "usage.json"}
job = SimpleNamespace(log=["job.log"], output=SimpleNamespace(**output, get=output.get))
heavy(sys.argv[1], job)
"""

JOBS = """
import os

def die(log):
    os.kill(os.getpid(), 9)

def kill_the_server(log):
    os.kill(os.getppid(), 9)
"""


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="tp") as folder:
        yield Path(folder)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="warm processes need Linux")
@pytest.mark.parametrize(
    ("function", "done", "status", "says"),
    [
        ("die", "the process of a job", 128 + signal.SIGKILL, "was killed.*goes on from its state"),
        ("kill_the_server", "the server of warm processes", 1, "server .*killed.*Start again"),
    ],
)
def test_a_killed_process_is_told(
    function: str, done: str, status: int, says: str, tmp_path: Path, short_folder: Path
) -> None:
    (tmp_path / "jobs.py").write_text(JOBS, encoding="utf-8")
    environment = {**os.environ, "TMPDIR": str(short_folder)}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    for name in ("THINKPRIOR_NO_FORKSERVER", "SLURM_JOB_ID"):
        environment.pop(name, None)
    run = subprocess.run(
        [sys.executable, "-c", CLIENT, f"jobs:{function}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == status, run.stderr
    message = message_of(run.stderr, tmp_path)
    assert re.search(says, message)
    assert message.removeprefix("error: ") in (tmp_path / "job.log").read_text(encoding="utf-8")
    ROWS.append(("killed", done, message))


def test_a_killed_worker_of_the_verifier_is_replaced(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [
        ("\\sin(2x)", r"\boxed{2\sin(x)\cos(x)}"),
        ("\\sin(2x)", r"\boxed{2\sin(x)\cos(2x)}"),
    ]
    with Verifier() as verifier:
        assert verifier.grade(["\\cos(2x)"], [r"\boxed{1-2\sin^2(x)}"])[0] == [Verdict.correct]
        # One that is idle, before it is asked for its known answers.
        for worker in verifier._pool._workers:
            worker.process.kill()
            worker.process.wait()
        golds, replies = map(list, zip(*pairs, strict=True))
        verdicts, report = verifier.grade(golds, replies)
        assert verdicts == [Verdict.correct, Verdict.wrong]
        assert (report.errors, report.compared) == (0, 2)
        assert "killed from outside" in caplog.text

        # One that is at work: what it was asked is asked again.
        worker = verifier._pool._workers[0]
        ask = worker.ask

        def killed_after_asking(gold: str, answer: str) -> None:
            ask(gold, answer)
            if gold == "\\tan(x)":
                worker.process.kill()

        monkeypatch.setattr(worker, "ask", killed_after_asking)
        tangent = r"\boxed{\frac{\sin(x)}{\cos(x)}}"
        verdicts, report = verifier.grade(["\\tan(x)"], [tangent])
        assert (verdicts, report.errors, report.compared) == ([Verdict.correct], 0, 1)
    ROWS.append(("killed", "a worker of the verifier, idle or at work", "(none: another takes "
                 "its place, and the verdicts are those without the kill)"))  # fmt: skip


# --- Network --------------------------------------------------------------------------------------


def download(folder: Path) -> Attempt:
    return "tests.unit.test_bad_input:fetch_from_nowhere", {"folder": folder / "data"}


def fetch_from_nowhere(folder: Path) -> None:
    from thinkprior.downloads import Lock, Repository, fetch

    repository = Repository("someone/numbers", ("train.jsonl",))
    fetch(repository, folder, Lock(folder / "lock.json"), print, endpoint="http://127.0.0.1:9",
          waits=(0.0,))  # fmt: skip


@pytest.mark.parametrize("offline", [True, False])
def test_no_network(
    offline: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", offline)
    done = "HF_HUB_OFFLINE is set" if offline else "a hub that cannot be reached"
    says = "someone/numbers: .*HF_HUB_OFFLINE" if offline else "someone/numbers: .*be reached"
    refused(Case("network", done, says, download), tmp_path, capfd)


# --- The page -------------------------------------------------------------------------------------


def test_the_page_is_what_the_tests_produced() -> None:
    if len({done for _, done, _ in ROWS}) < 30:
        pytest.skip("its rows come from the tests above: run all of this file together")
    check_page("functions", ROWS, ("device", "disk", "killed", "network"))

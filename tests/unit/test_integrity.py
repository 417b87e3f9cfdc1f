"""Integrity checks on a small scale made by hand: in order as it stands, and with one thing off."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from thinkprior.digest import file_digest
from thinkprior.errors import InputError
from thinkprior.integrity import (
    check_copies,
    check_covered,
    check_files,
    check_pools,
    check_runs,
    check_scores,
    derive_again,
    read_records,
)
from thinkprior.records import write_record
from thinkprior.stages.integrity import verify_scale

RUNS = [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def count_lines(source: Path | str, table: Path | str) -> None:
    """A derived artifact: the number of lines of its source."""
    lines = len(Path(source).read_text(encoding="utf-8").splitlines())
    Path(table).write_text(f"lines\n{lines}\n", encoding="utf-8")


@pytest.fixture
def scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """results/tiny: a pool, a prior, a benchmark, four runs of a campaign, one derived table."""
    monkeypatch.chdir(tmp_path)
    root = Path("results/tiny")
    problem = {"answer": "1", "level": 1, "subject": "Algebra"}
    write(
        root / "data/pools/pool.jsonl",
        json.dumps({"id": "p1", "problem": "One?", **problem}) + "\n",
    )
    write(
        root / "data/benchmarks/math500.jsonl",
        json.dumps({"id": "m1", "problem": "Two?", **problem}) + "\n",
    )
    write(root / "priors/pool/anchor.csv", "problem_id,phi\np1,0.5\n")
    inputs = ["data/pools/pool.jsonl", "data/benchmarks/math500.jsonl", "priors/pool/anchor.csv"]
    record(root, "problems", [], [root / name for name in inputs])
    for arm, seed in RUNS:
        folder = root / f"runs/main/{arm}/seed{seed}"
        write(folder / "groups.parquet", f"groups of {arm} {seed}")
        settings = {
            "plan": {"campaign": "main", "arm": arm, "seed": seed, "refill": {}, "steps": 10},
            "selector": arm,
            "lora": 8,
        }
        record(
            root,
            "train",
            [root / name for name in inputs],
            [folder / "groups.parquet"],
            name=f"train.{arm}.{seed}",
            settings=settings,
        )
        answers = pd.DataFrame(
            {"step": [0, 0], "benchmark": ["math500"] * 2, "correct": [True, False]}
        )
        answers.to_parquet(folder / "answers.parquet")
        scores = pd.DataFrame(
            {
                "step": [0],
                "benchmark": ["math500"],
                "subset": ["all"],
                "problems": [2],
                "correct": [1],
            }
        )
        scores.to_csv(folder / "scores.csv", index=False)
        record(
            root,
            "evaluate",
            [folder / "groups.parquet"],
            [folder / "scores.csv", folder / "answers.parquet"],
            name=f"evaluate.{arm}.{seed}",
        )
    table, source = root / "tables/lines.csv", root / "runs/main/a/seed0/scores.csv"
    table.parent.mkdir(parents=True)
    count_lines(source, table)
    record(
        root,
        "table",
        [source],
        [table],
        derived=True,
        function=f"{__name__}:count_lines",
        source=str(source),
        table=str(table),
    )
    return root


def write(path: Path, text: str) -> None:
    """A text file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def record(
    root: Path,
    rule: str,
    inputs: list[Path],
    outputs: list[Path],
    *,
    name: str = "",
    derived: bool = False,
    function: str = "",
    **arguments: object,
) -> None:
    """A job's record."""
    folder = root / "records"
    folder.mkdir(parents=True, exist_ok=True)
    write_record(
        folder / f"{name or rule}.json",
        rule=rule,
        function=function,
        arguments=arguments,
        inputs=inputs,
        outputs=outputs,
        code="c0de",
        derived=derived,
        usage={},
    )


def test_a_sound_scale_has_no_findings(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verify_scale(str(scale))
    assert "everything is as its records say" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    [
        "data/pools/pool.jsonl",
        "data/benchmarks/math500.jsonl",
        "priors/pool/anchor.csv",
        "runs/main/b/seed1/groups.parquet",
        "runs/main/b/seed1/answers.parquet",
        "runs/main/b/seed1/scores.csv",
        "tables/lines.csv",
    ],
)
def test_a_flipped_bit_is_found_wherever_it_is(scale: Path, name: str) -> None:
    path = scale / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    records, _ = read_records(scale / "records")
    assert str(path) in {finding.where for finding in check_files(records)}
    with pytest.raises(InputError, match="finding"):
        verify_scale(str(scale))


def test_a_missing_file_is_found(scale: Path) -> None:
    (scale / "priors/pool/anchor.csv").unlink()
    records, _ = read_records(scale / "records")
    found = check_files(records)
    assert {finding.check for finding in found} == {"checksums", "inputs"}
    assert all("missing" in finding.what for finding in found)


def test_a_file_without_a_record_is_found(scale: Path) -> None:
    write(scale / "tables/by_hand.csv", "number\n1\n")
    records, _ = read_records(scale / "records")
    assert [Path(finding.where).name for finding in check_covered(scale, records)] == [
        "by_hand.csv"
    ]


def test_a_derived_number_that_was_written_over_is_found_even_with_its_record(scale: Path) -> None:
    table = scale / "tables/lines.csv"
    table.write_text("lines\n7\n", encoding="utf-8")
    path = scale / "records/table.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["outputs"] = {str(table): file_digest(table)}
    path.write_text(json.dumps(content), encoding="utf-8")
    records, _ = read_records(scale / "records")
    assert not check_files(records)
    assert [finding.where for finding in derive_again(records)] == [str(table)]


def test_a_score_that_its_answers_do_not_give_is_found(scale: Path) -> None:
    path = scale / "runs/main/a/seed1/scores.csv"
    scores = pd.read_csv(path)
    scores["correct"] = 2
    scores.to_csv(path, index=False)
    (found,) = check_scores(scale)
    assert "2/2, the answers 1/2" in found.what


def test_priors_and_pools_are_checked(scale: Path) -> None:
    write(scale / "priors/pool/anchor.csv", "problem_id,phi\nother,0.5\n")
    (found,) = check_pools(scale)
    assert found.check == "priors" and "'p1'" in found.what
    shared = (scale / "data/pools/pool.jsonl").read_text(encoding="utf-8")
    write(scale / "data/benchmarks/math500.jsonl", shared)
    (found,) = check_pools(scale)
    assert found.check == "pools" and "p1" in found.what


def edit(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    """Changes a record in place."""
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_a_run_of_another_protocol_is_found(scale: Path) -> None:
    def other_lora(content: dict[str, object]) -> None:
        content["arguments"]["settings"]["lora"] = 16  # type: ignore[index]

    edit(scale / "records/train.b.0.json", other_lora)
    records, _ = read_records(scale / "records")
    (found,) = check_runs(scale, records)
    assert (found.check, found.where) == ("protocol", "main") and "b/seed0" in found.what


def test_a_run_with_another_first_score_is_found(scale: Path) -> None:
    path = scale / "runs/main/b/seed1/scores.csv"
    scores = pd.read_csv(path)
    scores["correct"] = 0
    scores.to_csv(path, index=False)
    records, _ = read_records(scale / "records")
    (found,) = check_runs(scale, records)
    assert found.check == "step-0 score" and found.what.startswith("b/seed1")


@pytest.mark.parametrize(
    ("elsewhere", "flagged"),
    [(["a.0"], True), (["a.0", "b.0"], False), (["a.0", "b.1"], True), (["a.0", "a.1"], True)],
)
def test_hosts_must_be_balanced_over_the_arms(
    scale: Path, elsewhere: list[str], flagged: bool
) -> None:
    def move(content: dict[str, object]) -> None:
        content["host"]["machine"] = "another"  # type: ignore[index]

    for run in elsewhere:
        edit(scale / f"records/train.{run}.json", move)
    records, _ = read_records(scale / "records")
    assert bool(check_runs(scale, records)) == flagged


def test_a_record_that_is_cut_off_is_found(scale: Path) -> None:
    path = scale / "records/train.a.0.json"
    path.write_text(path.read_text(encoding="utf-8")[:50], encoding="utf-8")
    _, (found,) = read_records(scale / "records")
    assert found.where == str(path)


def test_a_fixed_name_must_be_the_rendering_of_some_scale(scale: Path) -> None:
    sources = {"lines.csv": "tables/lines.csv", "absent.csv": "tables/absent.csv"}
    copy = scale.parent / "lines.csv"
    copy.write_bytes((scale / "tables/lines.csv").read_bytes())
    assert check_copies(scale.parent, sources) == []
    copy.write_text("lines\n7\n", encoding="utf-8")
    assert [finding.where for finding in check_copies(scale.parent, sources)] == [str(copy)]
    # The same name may be of another scale.
    write(scale.parent / "other/tables/lines.csv", "lines\n7\n")
    assert check_copies(scale.parent, sources) == []


def test_nothing_to_verify_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Run the workflow first"):
        verify_scale(str(tmp_path))

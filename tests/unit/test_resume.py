"""A run that was ended and goes on: the same bytes as one that was not, whatever ended it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from tests.unit.test_training import (
    DAPO,
    POOL,
    TEMPLATE,
    B,
    FirstCharacterVerifier,
    ignore,
    plan_of,
    prior,
    trainer_of,
)

from thinkprior.digest import file_digest
from thinkprior.errors import InputError, NonFiniteError
from thinkprior.evaluation import evaluate
from thinkprior.interruption import Interrupted, interruptible, shielded
from thinkprior.loss import backpropagate
from thinkprior.memory import memory_advice
from thinkprior.models import load_model, load_tokenizer
from thinkprior.posterior import BetaPosterior
from thinkprior.probing import probe
from thinkprior.problems import Problem
from thinkprior.rollouts import PromptCompletions, Sampling
from thinkprior.selection import SELECTORS
from thinkprior.state import State
from thinkprior.training import Trainer, TrainingPlan
from thinkprior.transformers_engine import TransformersEngine

STEPS = 5
PLAN = plan_of(steps=STEPS, refill=DAPO)


class KilledError(Exception):
    """Stands for kill -9: nothing is done about it."""


class Run:
    """A run in folders of its own, which may be started again and again."""

    def __init__(self, model: Path, folder: Path, plan: TrainingPlan = PLAN, **more: Any) -> None:
        self.model, self.folder, self.plan, self.more = model, folder, plan, more
        self.lines: list[str] = []
        self.identity: dict[str, Any] = {"code": "1"}

    def trainer(self) -> Trainer:
        return trainer_of(self.model, self.plan, **{k: make() for k, make in self.more.items()})

    def start(
        self, report: Callable[[dict[str, Any]], None] = ignore, every: int = 2
    ) -> dict[str, str]:
        """Run to the end; digests of everything that the run leaves but its seconds."""
        with State(self.folder / "state", self.identity, self.lines.append) as state:
            log = self.trainer().run(self.folder / "checkpoints", report, state, every)
        groups, steps, timings = log.frames()
        assert list(timings["step"]) == list(range(1, self.plan.steps + 1))
        groups.to_parquet(self.folder / "groups.parquet", index=False)
        steps.to_parquet(self.folder / "steps.parquet", index=False)
        return outputs(self.folder)

    def killed_after(self, step: int, every: int = 2) -> None:
        def report(row: dict[str, Any]) -> None:
            if row["step"] == step:
                raise KilledError

        with pytest.raises(KilledError):
            self.start(report, every)
        # Snakemake deletes the outputs of a job that did not end well.
        for path in (self.folder / "checkpoints").rglob("*"):
            if path.is_file():
                path.unlink()


def outputs(folder: Path) -> dict[str, str]:
    files = [*folder.glob("*.parquet"), *folder.glob("checkpoints/*/adapter_*")]
    return {str(path.relative_to(folder)): file_digest(path) for path in sorted(files)}


@pytest.fixture(scope="module")
def model(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Callable[..., Any], tokenizer: Any
) -> Path:
    directory = tmp_path_factory.mktemp("resume") / "model"
    tiny_model().save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def uninterrupted(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    left = Run(model, tmp_path_factory.mktemp("whole")).start()
    assert len(left) == 2 + 2 * 4  # adapters at 0, 2, 4 and 5, each with its configuration
    return left


# --- Killed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_killed_after_any_step_it_goes_on_to_the_same_bytes(
    model: Path, tmp_path: Path, uninterrupted: dict[str, str], step: int
) -> None:
    run = Run(model, tmp_path)
    run.killed_after(step)
    done: list[int] = []
    assert run.start(lambda row: done.append(row["step"])) == uninterrupted
    # The kill came before the step's own state was written, which is every second step.
    before = (step - 1) // 2 * 2
    assert done == list(range(before + 1, STEPS + 1))
    if before:
        assert [line for line in run.lines if f"goes on after step {before}," in line]


def test_killed_again_and_again(model: Path, tmp_path: Path, uninterrupted: dict[str, str]) -> None:
    run = Run(model, tmp_path)
    for step in (1, 2, 3, 3, 4, 5):
        run.killed_after(step, every=1)
    assert run.start() == uninterrupted


def test_after_the_last_step_nothing_is_done_again(
    model: Path, tmp_path: Path, uninterrupted: dict[str, str]
) -> None:
    run = Run(model, tmp_path)
    run.start()
    done: list[int] = []
    assert run.start(lambda row: done.append(row["step"])) == uninterrupted
    assert done == []


@pytest.mark.parametrize("selector", SELECTORS)
def test_no_selector_remembers_anything_that_the_state_does_not(
    model: Path, tmp_path: Path, selector: str
) -> None:
    plan = replace(PLAN, steps=4)
    whole = Run(model, tmp_path / "whole", plan, selector=SELECTORS[selector])
    broken = Run(model, tmp_path / "broken", plan, selector=SELECTORS[selector])
    whole.folder.mkdir()
    broken.folder.mkdir()
    broken.killed_after(3)
    assert broken.start() == whole.start()


def test_under_a_reference_and_without_the_merged_copy(model: Path, tmp_path: Path) -> None:
    plan = replace(PLAN, steps=4, kl_beta=0.1)
    whole = Run(model, tmp_path / "whole", plan, merged=lambda: False)
    broken = Run(model, tmp_path / "broken", plan, merged=lambda: False)
    whole.folder.mkdir()
    broken.folder.mkdir()
    broken.killed_after(4)
    assert broken.start() == whole.start()


def test_the_numbers_of_the_machine_are_no_part_of_the_run(
    model: Path, tmp_path: Path, uninterrupted: dict[str, str]
) -> None:
    run = Run(model, tmp_path)
    run.killed_after(3)
    torch.manual_seed(77)
    torch.rand(5)
    assert run.start(every=1) == uninterrupted


# --- A state that cannot be used ------------------------------------------------------------------


def spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def test_a_damaged_state_gives_way_to_the_one_before(
    model: Path, tmp_path: Path, uninterrupted: dict[str, str]
) -> None:
    run = Run(model, tmp_path)
    run.killed_after(5, every=1)
    assert sorted(p.name for p in (tmp_path / "state").glob("step-*")) == [
        "step-00003",
        "step-00004",
    ]
    spoil(tmp_path / "state" / "step-00004")
    done: list[int] = []
    assert run.start(lambda row: done.append(row["step"])) == uninterrupted
    assert done == [4, 5]
    assert "step-00004 is torn or damaged" in run.lines[0]
    assert "goes on after step 3" in run.lines[1]


def test_a_damaged_adapter_of_a_checkpoint_is_computed_again(
    model: Path, tmp_path: Path, uninterrupted: dict[str, str]
) -> None:
    run = Run(model, tmp_path)
    run.killed_after(5, every=1)
    spoil(tmp_path / "state" / "adapter-step-00004")
    done: list[int] = []
    assert run.start(lambda row: done.append(row["step"])) == uninterrupted
    assert done == [4, 5]


def test_without_any_sound_state_it_starts_anew(
    model: Path, tmp_path: Path, uninterrupted: dict[str, str]
) -> None:
    run = Run(model, tmp_path)
    run.killed_after(5)
    for path in (tmp_path / "state").glob("step-*"):
        path.write_bytes(path.read_bytes()[:100])
    done: list[int] = []
    assert run.start(lambda row: done.append(row["step"])) == uninterrupted
    assert done == list(range(1, STEPS + 1))
    assert "starts anew: none of its states can be used" in run.lines


def test_the_state_of_other_code_is_kept_aside(
    model: Path, tmp_path: Path, uninterrupted: dict[str, str]
) -> None:
    run = Run(model, tmp_path)
    run.killed_after(5)
    run.identity = {"code": "2"}
    done: list[int] = []
    assert run.start(lambda row: done.append(row["step"])) == uninterrupted
    assert done == list(range(1, STEPS + 1))
    assert 'code ("1", now "2")' in run.lines[0]
    assert (tmp_path / "state-aside-1" / "step-00004").exists()


# --- Signals --------------------------------------------------------------------------------------


def test_the_signal_waits_for_a_shield_and_comes_once() -> None:
    seen = []
    with pytest.raises(Interrupted) as caught, interruptible():
        with shielded(), shielded():
            os.kill(os.getpid(), signal.SIGTERM)
            seen.append("finished")
        seen.append("never")
    assert seen == ["finished"]
    assert caught.value.status == 143
    with interruptible(), shielded():
        seen.append("no signal")
    with interruptible(), pytest.raises(Interrupted):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)  # A second one does not disturb the clearing up.
            seen.append("cleared up")
    assert seen[-1] == "cleared up"


def test_interrupted_in_the_middle_of_a_step_it_goes_on_after_the_step_before(
    model: Path, tmp_path: Path, uninterrupted: dict[str, str]
) -> None:
    class Interrupting(FirstCharacterVerifier):
        """Ends the job at the grading of its third batch."""

        batches = 0

        def grade(self, golds: Sequence[str], responses: Sequence[str]) -> Any:
            self.batches += 1
            if self.batches == 3:
                os.kill(os.getpid(), signal.SIGTERM)
            return super().grade(golds, responses)

    run = Run(model, tmp_path, verifier=Interrupting)
    finished: list[int] = []
    with interruptible(), pytest.raises(Interrupted):
        run.start(lambda row: finished.append(row["step"]), every=100)
    assert (tmp_path / "state" / f"step-{len(finished):05d}").exists()
    run.more = {}
    done: list[int] = []
    assert run.start(lambda row: done.append(row["step"]), every=100) == uninterrupted
    assert done == list(range(len(finished) + 1, STEPS + 1))


def forked(work: Callable[[], object]) -> int:
    """A child process, as the server of warm processes makes it, that does some work."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        with interruptible():
            work()
        status = 0
    except Interrupted as interruption:
        status = interruption.status
    finally:
        os._exit(status)


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ended_at_any_moment(
    model: Path, tmp_path: Path, uninterrupted: dict[str, str], number: signal.Signals
) -> None:
    run = Run(model, tmp_path)
    moment, ends = 0.05, 0
    # Ended later each time: at last it comes through.
    while True:
        pid = forked(lambda: run.start(every=1))
        time.sleep(moment)
        os.kill(pid, number)
        status = ended(pid)
        if status == 0:
            break
        # Before the child has its handler, the signal itself ends it.
        assert status in (128 + number, -number)
        moment, ends = moment * 1.25, ends + 1
    assert ends >= 2
    assert outputs(tmp_path) == uninterrupted


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_job_within_seconds_and_leaves_its_state(
    model: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    run = Run(model, tmp_path, replace(PLAN, steps=10_000))
    seen = tmp_path / "seen"

    def report(row: dict[str, Any]) -> None:
        seen.write_text(str(row["step"]), encoding="utf-8")

    pid = forked(lambda: run.start(report, 10_000))
    while not (seen.exists() and seen.read_text() == "2"):
        time.sleep(0.01)
    start = time.monotonic()
    os.kill(pid, number)
    assert ended(pid) == status
    assert time.monotonic() - start < 10
    # The step that was under way is either whole and in the state, or not there at all.
    last = int(seen.read_text())
    names = [path.name for path in (tmp_path / "state").glob("step-*")]
    assert names in ([f"step-{last:05d}"], [f"step-{last + 1:05d}"])


# --- Numbers that are none ------------------------------------------------------------------------


def poison(trainer: Trainer) -> None:
    """A weight of the adapter becomes NaN, as a fault of the machine would make it."""
    with torch.no_grad():
        trainer.parameters[0][0, 0] = float("nan")


def test_a_loss_that_is_no_number_stops_the_run_before_the_optimizer(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(model, tmp_path)
    calls: list[Any] = []

    def broken(policy: Any, groups: Any, **more: Any) -> Any:
        calls.append(groups)
        parts = backpropagate(policy, groups, **more)
        return replace(parts, loss=float("nan")) if len(calls) == 3 else parts

    monkeypatch.setattr("thinkprior.training.backpropagate", broken)
    finished: list[int] = []
    with pytest.raises(NonFiniteError) as caught:
        run.start(lambda row: finished.append(row["step"]), every=1)
    assert finished == [1, 2]
    message = str(caught.value)
    assert "main/thinkprior/seed0, step 3: the loss is nan" in message
    saved = torch.load(tmp_path / "state-nonfinite-step-00003.pt", weights_only=True)
    assert str(tmp_path / "state-nonfinite-step-00003.pt") in message
    for group, row in zip(calls[2], saved["groups"], strict=True):
        assert row["problem_id"] in message
        assert row["prompt_tokens"] == group.prompt_tokens.tolist()
        assert row["completions"] == [tokens.tolist() for tokens in group.completions]
        assert row["advantages"] == group.advantages.tolist()
    # Neither the state nor an adapter is of the broken step, and the rest is as if it had not been.
    assert [path.name for path in (tmp_path / "state").glob("step-*")].count("step-00003") == 0
    monkeypatch.undo()
    whole = tmp_path / "whole"
    whole.mkdir()
    assert run.start() == Run(model, whole).start()


def test_a_gradient_that_is_infinite_leaves_the_adapter_alone(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = trainer_of(model, PLAN)

    def broken(*args: Any, **more: Any) -> Any:
        parts = backpropagate(*args, **more)
        gradient = trainer.parameters[1].grad
        assert gradient is not None
        gradient[0, 0] = float("inf")
        return parts

    monkeypatch.setattr("thinkprior.training.backpropagate", broken)
    before = [p.detach().clone() for p in trainer.parameters]
    with pytest.raises(NonFiniteError, match="norm of its gradient inf"):
        trainer.step(1)
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.parameters, strict=True))
    assert trainer.log.steps == []
    assert not trainer.posterior.correct.any()


def test_a_model_that_gives_no_numbers_is_found_at_generation(model: Path, tmp_path: Path) -> None:
    trainer = trainer_of(model, PLAN)
    poison(trainer)
    with (
        State(tmp_path / "state", {}, print) as state,
        pytest.raises(NonFiniteError, match=r"step 1: .*no finite number") as caught,
    ):
        trainer.run(tmp_path / "checkpoints", ignore, state)
    saved = torch.load(tmp_path / "state-nonfinite-step-00001.pt", weights_only=True)
    assert [row["prompt"][:3] for row in saved["groups"]] == ["do "] * B
    # Two prompts of four rollouts stood in the batch of eight rows that was generated first.
    named = [row["problem_id"] for row in saved["groups"] if row["problem_id"] in str(caught.value)]
    assert len(named) == 2


@pytest.mark.parametrize("temperature", [0.0, 0.9])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_the_engine_names_the_prompts_whose_numbers_are_none(
    model: Path, temperature: float, value: float
) -> None:
    class Broken(TransformersEngine):
        """Spoils one logit of every row that belongs to the longest prompt."""

        def _head(self, hidden: torch.Tensor) -> torch.Tensor:
            logits = super()._head(hidden).clone()
            if len(logits) == 1 and self.calls == 2:
                logits[0, 7] = value
            self.calls += len(logits) == 1
            return logits

        calls = 0

    engine = Broken(load_model(model), load_tokenizer(model), batch_rows=1)
    sampling = Sampling(temperature, max_new_tokens=1, max_prompt_tokens=30)
    with pytest.raises(NonFiniteError) as caught:
        engine.generate(["aaa", "a", "aa"], 1, sampling, [1, 2, 3])
    assert caught.value.prompts == (0,)  # Shorter prompts come first, so it is the third batch.


# --- Memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nMore advice."),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_memory_that_runs_out_is_one_message(error: Exception) -> None:
    with (
        pytest.raises(InputError, match=r"while it trained: lower training\.this") as caught,
        memory_advice("it trained", "training.this"),
    ):
        raise error
    assert "\n" not in str(caught.value)


def test_another_fault_is_passed_on() -> None:
    with pytest.raises(RuntimeError, match="shapes"), memory_advice("it trained", "x"):
        raise RuntimeError("shapes do not fit")


def test_an_update_without_memory_names_its_setting(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **more: Any) -> Any:
        torch.empty(2**50, dtype=torch.uint8)  # A real refusal of the allocator.

    monkeypatch.setattr("thinkprior.training.backpropagate", broken)
    with pytest.raises(InputError, match=r"training.groups_per_batch \(now 2\)"):
        trainer_of(model, PLAN).step(1)


# --- Probing and evaluation -----------------------------------------------------------------------


class Counting:
    """An engine that counts what it generates, and dies at a call."""

    def __init__(self, model: Path, dies_at: int = -1) -> None:
        self.engine = TransformersEngine(load_model(model), load_tokenizer(model), batch_rows=8)
        self.dies_at = dies_at
        self.prompts: list[str] = []
        self.calls = 0

    def generate(
        self, prompts: Sequence[str], samples: int, sampling: Sampling, seeds: Sequence[int]
    ) -> list[PromptCompletions]:
        if self.calls == self.dies_at:
            raise KilledError
        self.calls += 1
        self.prompts += prompts
        return self.engine.generate(prompts, samples, sampling, seeds)

    def rest(self) -> None:
        self.engine.rest()


@pytest.fixture
def small_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("thinkprior.probing.PROBLEMS_AT_ONCE", 5)
    yield


@pytest.mark.usefixtures("small_calls")
def test_probing_goes_on_and_generates_nothing_twice(model: Path, tmp_path: Path) -> None:
    def table(engine: Counting, folder: str) -> pd.DataFrame:
        with State(tmp_path / folder, {}, print) as state:
            return probe(
                engine, FirstCharacterVerifier(), POOL, TEMPLATE,  # type: ignore[arg-type]
                samples=2, sampling=PLAN.sampling, name=("probe",), report=ignore_line, state=state,
            )  # fmt: skip

    whole = Counting(model)
    table(whole, "whole").to_parquet(tmp_path / "whole.parquet", index=False)
    first, second = Counting(model, dies_at=2), Counting(model)
    with pytest.raises(KilledError):
        table(first, "broken")
    # A torn part is made again, and nothing else.
    part = tmp_path / "broken" / "part-000005"
    part.write_bytes(part.read_bytes()[:-10])
    table(second, "broken").to_parquet(tmp_path / "broken.parquet", index=False)
    assert (tmp_path / "broken.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert (len(first.prompts), len(second.prompts)) == (10, 7)
    assert sorted({*first.prompts, *second.prompts}) == sorted(whole.prompts)


def ignore_line(line: str) -> None:
    """Takes a line of progress."""


def test_evaluation_goes_on_and_generates_nothing_twice(model: Path, tmp_path: Path) -> None:
    benchmarks = {
        "math500": [replace(problem, level=5) for problem in POOL[:4]],
        "gsm8k": [Problem("g", "another", "a")],
    }

    def tables(engine: Counting, folder: str) -> tuple[bytes, bytes]:
        loaders = dict.fromkeys((0, 1, 2), lambda: None)
        with State(tmp_path / folder, {}, print) as state:
            scores, answers = evaluate(
                engine, FirstCharacterVerifier(), benchmarks, TEMPLATE,  # type: ignore[arg-type]
                Sampling(0.0, 5, 30), loaders, ignore_line, state,
            )  # fmt: skip
        return scores.to_csv(index=False).encode(), answers.to_parquet(index=False)

    whole = Counting(model)
    expected = tables(whole, "whole")
    assert whole.calls == 4
    for dies_at in range(4):
        first, second = Counting(model, dies_at), Counting(model)
        with pytest.raises(KilledError):
            tables(first, f"broken-{dies_at}")
        assert tables(second, f"broken-{dies_at}") == expected
        assert first.prompts + second.prompts == whole.prompts


def test_a_probe_names_the_problems_whose_numbers_are_none(model: Path) -> None:
    engine = Counting(model)
    with torch.no_grad():
        engine.engine.model.lm_head.weight[3] = float("nan")
    with pytest.raises(NonFiniteError, match=r"probe anchor: .* at problems p0, p1"):
        probe(
            engine, FirstCharacterVerifier(), POOL[:2], TEMPLATE,  # type: ignore[arg-type]
            samples=2, sampling=PLAN.sampling, name=("probe", "anchor"), report=ignore_line,
        )  # fmt: skip


def test_the_posterior_of_the_state_is_the_one_that_was_observed(
    model: Path, tmp_path: Path
) -> None:
    run = Run(model, tmp_path)
    run.killed_after(5)
    trainer = run.trainer()
    with State(tmp_path / "state", run.identity, ignore_line) as state:
        trainer.run(tmp_path / "checkpoints", ignore, state)
    expected: BetaPosterior = prior()
    ids = [problem.id for problem in POOL]
    for row in trainer.log.groups:
        expected.observe(ids.index(row["problem_id"]), row["correct"], row["rollouts"])
    assert (trainer.posterior.correct == expected.correct).all()
    assert (trainer.posterior.wrong == expected.wrong).all()


# --- Models that the pipeline trains itself -------------------------------------------------------


def test_pretraining_goes_on_to_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.unit.test_world_pretraining import plan_of as model_plan

    from thinkprior.world import pretraining

    monkeypatch.setattr(pretraining, "STATE_EVERY", 2)
    rate = pretraining._one_cycle
    steps: list[int] = []
    lines: list[str] = []

    def train(name: str, dies_at: int = -1) -> dict[str, str]:
        def counted(step: int, of: int) -> float:
            if step == dies_at:
                raise KilledError
            steps.append(step)
            return rate(step, of)

        monkeypatch.setattr(pretraining, "_one_cycle", counted)
        folders = {step: tmp_path / name / str(step) for step in (3, 7)}
        with State(tmp_path / f"{name}-state", {}, lines.append) as state:
            pretraining.pretrain(
                model_plan(steps=7), TEMPLATE, set(), folders, lambda step, loss: None, state
            )
        return {
            f"{step}/{path.name}": file_digest(path)
            for step, folder in folders.items()
            for path in sorted(folder.iterdir())
        }

    whole = train("whole")
    with pytest.raises(KilledError):
        train("broken", dies_at=5)
    for path in (tmp_path / "broken").rglob("*.*"):
        path.unlink()
    steps.clear()
    assert train("broken") == whole
    assert steps == [4, 5, 6]
    assert "goes on after step 4" in lines[-1]

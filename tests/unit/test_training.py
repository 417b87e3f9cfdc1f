"""The loop end to end on tiny models: bit for bit, by hand, and its logs."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import thinkprior
from thinkprior.adapters import Lora, add_adapter
from thinkprior.digest import file_digest
from thinkprior.merged import MergedSampler, plain_copy
from thinkprior.models import load_model, load_tokenizer
from thinkprior.posterior import BetaPosterior
from thinkprior.problems import Problem
from thinkprior.prompts import Template
from thinkprior.randomness import stream_seed
from thinkprior.refill import Refill
from thinkprior.rollouts import Completion, Engine, PromptCompletions, Sampling
from thinkprior.selection import Selector, TopLearnability, Uniform
from thinkprior.training import Trainer, TrainingPlan
from thinkprior.transformers_engine import TransformersEngine
from thinkprior.verification import Verdict

B, G = 3, 4
NO_REFILL = Refill(discard_silent=False, most_rounds=1)
DAPO = Refill(discard_silent=True, most_rounds=3)
TEMPLATE = Template("do {problem}")

EASY, MIDDLING, HARD = "abcdefghijklmnopqrstuvwxyz0123456789 +", "abcdefghijklmnopqr", "7"
POOL = [
    Problem(f"p{place}", f"task {place}", answer)
    for place, answer in enumerate([HARD, EASY, MIDDLING, HARD, MIDDLING, EASY, MIDDLING, HARD,
                                    MIDDLING, EASY, HARD, MIDDLING])
]  # fmt: skip


class FirstCharacterVerifier:
    """A reply is right when its first character is one of the gold's."""

    def grade(self, golds: Sequence[str], responses: Sequence[str]) -> tuple[list[Verdict], None]:
        right = [
            text[:1] in gold and text != "" for gold, text in zip(golds, responses, strict=True)
        ]
        return [Verdict.correct if r else Verdict.wrong for r in right], None


class CountingVerifier:
    """Says how many of each group's rollouts are right, group after group in arrival order."""

    def __init__(self, correct: Sequence[int]) -> None:
        self.correct = list(correct)

    def grade(self, golds: Sequence[str], responses: Sequence[str]) -> tuple[list[Verdict], None]:
        verdicts: list[Verdict] = []
        for _ in range(len(golds) // G):
            right = self.correct.pop(0)
            verdicts += [Verdict.correct] * right + [Verdict.timeout] * (G - right)
        return verdicts, None


def plan_of(**changes: Any) -> TrainingPlan:
    values: dict[str, Any] = {
        "campaign": "main",
        "arm": "thinkprior",
        "seed": 0,
        "steps": 4,
        "batch_prompts": B,
        "group_size": G,
        "learning_rate": 0.03,
        "gradient_norm": 1.0,
        "kl_beta": 0.0,
        "checkpoint_every": 2,
        "groups_per_batch": 2,
        "sampling": Sampling(temperature=0.9, max_new_tokens=5, max_prompt_tokens=30),
        "refill": NO_REFILL,
    }
    return TrainingPlan(**{**values, **changes})


def prior() -> BetaPosterior:
    return BetaPosterior.from_prior(np.linspace(0.05, 0.95, len(POOL)), 4.0, 1e-3)


def trainer_of(
    directory: Path,
    plan: TrainingPlan,
    *,
    merged: bool = True,
    selector: Selector | None = None,
    posterior: BetaPosterior | None = None,
    verifier: Any = None,
    engine: Callable[[Any], Engine] | None = None,
) -> Trainer:
    base, tokenizer = load_model(directory), load_tokenizer(directory)
    plain = plain_copy(base)
    seed = stream_seed(plan.campaign, plan.arm, plan.seed, "adapter")
    policy = add_adapter(base, Lora(rank=4, alpha=8.0), seed)
    sampler: Engine
    if engine is not None:
        sampler = engine(policy)
    elif merged:
        sampler = MergedSampler(plain, policy, tokenizer, batch_rows=8)
    else:
        sampler = TransformersEngine(policy, tokenizer, batch_rows=8)
    grader: Any = verifier or FirstCharacterVerifier()
    return Trainer(
        plan,
        model=policy,
        engine=sampler,
        verifier=grader,
        pool=POOL,
        template=TEMPLATE,
        selector=selector or TopLearnability(),
        posterior=posterior or prior(),
    )


def ignore(row: dict[str, Any]) -> None:
    """Takes the report of a step."""


def tables(trainer: Trainer, checkpoints: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    groups, steps, _ = trainer.run(checkpoints, ignore).frames()
    return groups, steps


def rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def weights(trainer: Trainer) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in trainer.parameters]


def fingerprint(directory: Path, checkpoints: Path) -> str:
    """Everything that a run leaves but its seconds."""
    groups, steps = tables(trainer_of(directory, plan_of(refill=DAPO)), checkpoints)
    parts = [hashlib.sha256(table.to_parquet(index=False)).hexdigest() for table in (groups, steps)]
    parts += [file_digest(path) for path in sorted(checkpoints.rglob("adapter_*"))]
    return " ".join(parts)


# --- Bit for bit ----------------------------------------------------------------------------------


def test_two_runs_of_a_plan_are_the_same_to_the_bit(model_directory: Path, tmp_path: Path) -> None:
    first = fingerprint(model_directory, tmp_path / "a")
    torch.manual_seed(1)
    np.random.default_rng().random()
    assert fingerprint(model_directory, tmp_path / "b") == first
    assert (
        len(set(first.split())) == 6
    )  # two logs, an adapter at steps 0, 2 and 4, its configuration


def test_another_process_gives_the_same_run(model_directory: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; import test_training as t;"
        "print(t.fingerprint(Path(sys.argv[1]), Path(sys.argv[2])))"
    )
    places = [str(Path(thinkprior.__file__).parents[1]), str(Path(__file__).parent)]
    answer = subprocess.run(
        [sys.executable, "-c", program, str(model_directory), str(tmp_path / "other")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.split() == fingerprint(model_directory, tmp_path / "here").split()


def test_the_order_in_which_arms_run_changes_nothing(model_directory: Path, tmp_path: Path) -> None:
    def arm(name: str) -> Trainer:
        if name == "random":
            return trainer_of(model_directory, plan_of(arm=name), selector=Uniform())
        return trainer_of(model_directory, plan_of(arm=name, refill=DAPO))

    names = ("random", "thinkprior_dapo")
    alone = {name: tables(arm(name), tmp_path / name) for name in names}
    # Now step by step in turns, in the other order.
    both = {name: arm(name) for name in reversed(names)}
    for step in range(1, 5):
        for trainer in both.values():
            trainer.step(step)
    for name, trainer in both.items():
        groups, steps, _ = trainer.log.frames()
        pd.testing.assert_frame_equal(groups, alone[name][0], check_exact=True)
        pd.testing.assert_frame_equal(steps, alone[name][1], check_exact=True)


def test_the_merged_copy_and_the_policy_itself_sample_the_same(
    model_directory: Path, tmp_path: Path
) -> None:
    merged, _ = tables(trainer_of(model_directory, plan_of()), tmp_path / "a")
    unmerged, _ = tables(trainer_of(model_directory, plan_of(), merged=False), tmp_path / "b")
    pd.testing.assert_frame_equal(merged, unmerged, rtol=1e-6)


class SeedRecorder:
    """Passes on to an engine and keeps the prompts and their seeds."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.calls: list[tuple[list[str], list[int]]] = []

    def generate(
        self, prompts: Sequence[str], samples: int, sampling: Sampling, seeds: Sequence[int]
    ) -> list[PromptCompletions]:
        self.calls.append((list(prompts), list(seeds)))
        return self.engine.generate(prompts, samples, sampling, seeds)

    def rest(self) -> None:
        self.engine.rest()


def recorded(directory: Path, plan: TrainingPlan, checkpoints: Path) -> SeedRecorder:
    trainer = trainer_of(directory, plan, selector=Uniform())
    recorder = SeedRecorder(trainer.engine)
    trainer.engine = recorder
    trainer.run(checkpoints, ignore)
    return recorder


def test_every_prompt_of_every_step_has_a_stream_of_its_own(
    model_directory: Path, tmp_path: Path
) -> None:
    seen: list[int] = []
    for changes in ({}, {"seed": 1}, {"arm": "random"}, {"campaign": "other"}):
        recorder = recorded(model_directory, plan_of(**changes), tmp_path / str(len(seen)))
        seen += [seed for _, seeds in recorder.calls for seed in seeds]
    assert len(set(seen)) == len(seen) == 4 * 4 * B


def test_the_engine_reads_the_template(model_directory: Path, tmp_path: Path) -> None:
    recorder = recorded(model_directory, plan_of(), tmp_path / "a")
    known = {f"do {problem.problem}" for problem in POOL}
    assert all(set(prompts) <= known for prompts, _ in recorder.calls)


# --- Logs -----------------------------------------------------------------------------------------


def exact_expected_learnability(alpha: float, beta: float) -> float:
    def rising(a: Fraction) -> Fraction:
        product = Fraction(1)
        for j in range(G):
            product *= a + j
        return product

    a, b = Fraction(alpha), Fraction(beta)
    return float(1 - (rising(a) + rising(b)) / rising(a + b))


@pytest.mark.parametrize("refill", [NO_REFILL, DAPO])
def test_the_groups_log_replays_the_posterior(
    model_directory: Path, tmp_path: Path, refill: Refill
) -> None:
    trainer = trainer_of(model_directory, plan_of(steps=6, refill=refill))
    groups, _ = tables(trainer, tmp_path / "a")
    start = prior()
    alpha = dict(zip((p.id for p in POOL), start.alpha, strict=True))
    beta = dict(zip((p.id for p in POOL), start.beta, strict=True))
    for _, candidates in groups.groupby("step"):
        scores = {i: exact_expected_learnability(alpha[i], beta[i]) for i in alpha}
        # Down the ranking at the step's start, ties by pool order.
        best = sorted(scores, key=lambda i: -round(scores[i], 12))
        assert candidates["problem_id"].tolist() == best[: len(candidates)]
        for row in rows(candidates):
            name = row["problem_id"]
            assert row["expected_learnability"] == pytest.approx(scores[name], rel=1e-12)
            alpha[name] += row["correct"]
            beta[name] += row["rollouts"] - row["correct"]
    # Every generated group has reached the posterior, silent and dropped ones too.
    assert trainer.posterior.alpha == pytest.approx(list(alpha.values()))
    assert trainer.posterior.beta == pytest.approx(list(beta.values()))
    assert not groups["used"].all() or refill is NO_REFILL


@pytest.mark.parametrize("refill", [NO_REFILL, DAPO])
def test_the_logs_agree_with_each_other(
    model_directory: Path, tmp_path: Path, refill: Refill
) -> None:
    trainer = trainer_of(model_directory, plan_of(refill=refill), selector=Uniform())
    reported: list[dict[str, Any]] = []
    log = trainer.run(tmp_path / "a", reported.append)
    groups, steps, timings = log.frames()
    assert list(groups) == [
        "step", "round", "position", "problem_id", "rollouts", "correct", "tokens", "truncated",
        "used", "expected_learnability",
    ]  # fmt: skip
    assert steps["step"].tolist() == timings["step"].tolist() == [1, 2, 3, 4]
    assert list(timings) == ["step", "selection", "generation", "verification", "update"]
    assert (timings.drop(columns="step") > 0).all().all()
    pd.testing.assert_frame_equal(pd.DataFrame(reported), steps)
    assert (groups["rollouts"] == G).all()
    silent = groups["correct"].isin([0, G])
    for row in rows(steps):
        mine = groups[groups["step"] == row["step"]]
        assert mine["position"].tolist() == list(range(len(mine)))
        assert mine["round"].tolist() == [place // B for place in range(len(mine))]
        assert mine["problem_id"].is_unique, "candidates of a step come without replacement"
        assert row["generated_groups"] == len(mine)
        assert row["silent_groups"] == silent[mine.index].sum()
        assert row["used_groups"] == mine["used"].sum()
        assert row["shortfall"] == B - mine["used"].sum()
        assert row["pass_rate"] == pytest.approx(mine["correct"].sum() / (G * len(mine)))
        learning = mine["used"] & ~silent[mine.index]
        assert row["update_sequences"] == G * learning.sum()
        assert row["update_tokens"] == mine["tokens"][learning].sum()
        assert row["reference_kl"] == 0
    if refill is NO_REFILL:
        assert groups["used"].all()
        assert len(groups) == 4 * B
    else:
        assert not (groups["used"] & silent).any()
    # A rollout is 1 to 5 tokens, truncated ones are 5.
    assert groups["tokens"].between(G, 5 * G).all()
    assert (groups["tokens"] >= 5 * groups["truncated"]).all()


def test_under_a_kl_silent_groups_reach_the_model(model_directory: Path, tmp_path: Path) -> None:
    verifier = CountingVerifier([0, 2, G] * 4)
    plan = plan_of(kl_beta=0.04)
    _, steps = tables(trainer_of(model_directory, plan, verifier=verifier), tmp_path / "a")
    assert steps["update_sequences"].tolist() == [B * G] * 4
    assert steps["reference_kl"][0] == 0.0
    assert (steps["reference_kl"][1:] > 0).all()


# --- Updates by hand ------------------------------------------------------------------------------


class ScriptedEngine:
    """Rollouts that a prompt's seed fixes, whatever the weights."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def generate(
        self, prompts: Sequence[str], samples: int, sampling: Sampling, seeds: Sequence[int]
    ) -> list[PromptCompletions]:
        results = []
        for prompt, seed in zip(prompts, seeds, strict=True):
            generator = np.random.default_rng(seed)
            lengths = generator.integers(1, 6, samples)
            completions = [
                Completion(generator.integers(2, 40, int(n)), "", truncated=False) for n in lengths
            ]
            tokens = np.array(self.tokenizer(prompt)["input_ids"])
            results.append(PromptCompletions(tokens, completions))
        return results

    def rest(self) -> None:
        """Nothing to make room for."""


def scripted(directory: Path, plan: TrainingPlan, correct: Sequence[int]) -> Trainer:
    tokenizer = load_tokenizer(directory)
    return trainer_of(
        directory,
        plan,
        verifier=CountingVerifier(correct),
        engine=lambda policy: ScriptedEngine(tokenizer),
    )


def surrogate(directory: Path, plan: TrainingPlan, place: int, right: int) -> float:
    """Loss of one group of the pool at step 1, by the base model's own forward."""
    model = load_model(directory)
    prompt = TEMPLATE.prompt(POOL[place].problem)
    seed = stream_seed(plan.campaign, plan.arm, plan.seed, 1, "rollouts", POOL[place].id)
    engine = ScriptedEngine(load_tokenizer(directory))
    (result,) = engine.generate([prompt], G, plan.sampling, [seed])
    mean = right / G
    deviation = np.sqrt(right * (1 - mean) ** 2 + (G - right) * mean**2) / np.sqrt(G - 1)
    total = 0.0
    for number, completion in enumerate(result.completions):
        advantage = (float(number < right) - mean) / (deviation + 1e-4)
        tokens = torch.from_numpy(np.concatenate([result.prompt_tokens, completion.tokens]))
        with torch.no_grad():
            table = model(input_ids=tokens[None]).logits[0].log_softmax(-1)
        first = len(result.prompt_tokens) - 1
        chosen = table[torch.arange(first, len(tokens) - 1), tokens[first + 1 :]]
        total -= advantage * float(chosen.mean())
    return total / (plan.batch_prompts * G)


def first_prompts(count: int) -> list[int]:
    order = TopLearnability().order(prior(), G, count, np.random.default_rng(0))
    return [int(place) for place in order]


def test_the_first_loss_is_the_formula_over_b_groups(model_directory: Path) -> None:
    plan = plan_of()
    row = scripted(model_directory, plan, [1, G, 2]).step(1)
    first, _, third = first_prompts(B)
    expected = surrogate(model_directory, plan, first, 1)
    expected += surrogate(model_directory, plan, third, 2)
    assert row["loss"] == pytest.approx(expected, abs=1e-6)
    assert row["update_sequences"] == 2 * G


def test_a_shortfall_still_divides_by_b_groups(model_directory: Path) -> None:
    # Three rounds of three hold two groups that are not silent, where three are wanted.
    plan = plan_of(refill=DAPO)
    row = scripted(model_directory, plan, [0, 1, G, G, 0, 0, 3, 0, G]).step(1)
    order = first_prompts(9)
    expected = surrogate(model_directory, plan, order[1], 1)
    expected += surrogate(model_directory, plan, order[6], 3)
    assert row["loss"] == pytest.approx(expected, abs=1e-6)
    assert (row["generated_groups"], row["used_groups"], row["shortfall"]) == (9, 2, 1)


def test_dropped_groups_do_not_reach_the_update(model_directory: Path) -> None:
    plan = plan_of(refill=DAPO)
    row = scripted(model_directory, plan, [0, 1, 1, 2, 3, 1]).step(1)
    order = first_prompts(6)
    used = ((order[1], 1), (order[2], 1), (order[3], 2))
    expected = sum(surrogate(model_directory, plan, place, right) for place, right in used)
    assert row["loss"] == pytest.approx(expected, abs=1e-6)
    assert (row["generated_groups"], row["used_groups"], row["shortfall"]) == (6, 3, 0)


def test_the_gradient_is_clipped_and_logged_unclipped(model_directory: Path) -> None:
    loose = scripted(model_directory, plan_of(gradient_norm=1e9), [1, 2, 3])
    norm = loose.step(1)["gradient_norm"]
    tight = scripted(model_directory, plan_of(gradient_norm=norm / 10), [1, 2, 3])
    assert tight.step(1)["gradient_norm"] == pytest.approx(norm)
    for trainer, expected in ((loose, norm), (tight, norm / 10)):
        squares = sum(float((p.grad**2).sum()) for p in trainer.parameters if p.grad is not None)
        assert squares**0.5 == pytest.approx(expected, rel=1e-4)


def test_a_silent_first_batch_moves_nothing(model_directory: Path) -> None:
    trainer = scripted(model_directory, plan_of(), [0, G, 0])
    before = weights(trainer)
    row = trainer.step(1)
    assert all(torch.equal(a, b) for a, b in zip(before, weights(trainer), strict=True))
    assert (row["loss"], row["gradient_norm"], row["update_sequences"]) == (0.0, 0.0, 0)


def test_the_optimizer_steps_on_a_silent_batch_by_its_momentum(model_directory: Path) -> None:
    # AdamW by hand: a first step with gradient g, a second with none, no weight decay.
    rate, first, second, offset = 0.03, 0.9, 0.999, 1e-8
    trainer = scripted(model_directory, plan_of(learning_rate=rate), [1, 2, 3, 0, G, 0])
    trainer.step(1)
    moved = 0.0
    gradients = [p.grad.clone() for p in trainer.parameters if p.grad is not None]
    before = weights(trainer)
    row = trainer.step(2)
    assert (row["silent_groups"], row["gradient_norm"]) == (B, 0.0)
    for gradient, old, new in zip(gradients, before, weights(trainer), strict=True):
        m = first * (1 - first) * gradient / (1 - first**2)
        v = second * (1 - second) * gradient**2 / (1 - second**2)
        expected = old - rate * m / (v.sqrt() + offset)
        torch.testing.assert_close(new, expected, rtol=1e-4, atol=1e-7)
        moved = max(moved, float((new - old).abs().max()))
    assert moved > rate / 3


def test_training_raises_the_pass_rate(model_directory: Path, tmp_path: Path) -> None:
    plan = plan_of(steps=25)
    trainer = trainer_of(model_directory, plan, selector=Uniform())
    _, steps = tables(trainer, tmp_path / "a")
    rates = steps["pass_rate"]
    assert rates[-8:].mean() > rates[:8].mean() + 0.05


# --- Checkpoints ----------------------------------------------------------------------------------


def test_adapters_are_saved_at_step_0_every_few_steps_and_at_the_end(
    model_directory: Path, tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    trainer = trainer_of(model_directory, plan_of(steps=5))
    trainer.run(tmp_path / "a", ignore)
    saved = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert saved == ["step-00000", "step-00002", "step-00004", "step-00005"]
    start = load_file(tmp_path / "a" / "step-00000" / "adapter_model.safetensors")
    assert not any(w.any() for name, w in start.items() if "lora_B" in name)
    end = load_file(tmp_path / "a" / "step-00005" / "adapter_model.safetensors")
    for name, parameter in trainer.model.named_parameters():
        if parameter.requires_grad:
            assert torch.equal(end[name.replace(".default", "")], parameter)


def test_only_the_adapter_learns(model_directory: Path, tmp_path: Path) -> None:
    trainer = trainer_of(model_directory, plan_of())
    before = {n: p.clone() for n, p in trainer.model.named_parameters()}
    tables(trainer, tmp_path / "a")
    for name, parameter in trainer.model.named_parameters():
        changed = not torch.equal(parameter, before[name])
        assert changed == ("lora_" in name), name

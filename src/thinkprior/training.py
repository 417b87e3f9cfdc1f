"""GRPO with a prompt selector in front: select, generate, verify, observe, update, log.

How this departs from standard GRPO, after the paper (Algorithm 1, Appendix F): one inner iteration,
no importance ratio and no clipping, no KL unless `kl_beta` is set, the sample standard deviation in
the advantage, the untempered log-likelihood; and the prompts of a step come from a selector over a
Beta posterior, which every generated group updates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from thinkprior.advantage import group_advantages
from thinkprior.loss import LossParts, backpropagate
from thinkprior.packing import Group
from thinkprior.posterior import BetaPosterior
from thinkprior.problems import Problem
from thinkprior.prompts import Template
from thinkprior.randomness import stream, stream_seed
from thinkprior.refill import CandidateGroup, Refill, gather
from thinkprior.rollouts import Engine, Sampling
from thinkprior.selection import Selector
from thinkprior.verification import Verdict, Verifier


@dataclass(frozen=True)
class TrainingPlan:
    """What one run does.

    Attributes:
        campaign, arm, seed: the run's name, which also names its random streams.
        steps: updates.
        batch_prompts: B, groups an update.
        group_size: G, rollouts a group.
        learning_rate: of AdamW, constant.
        gradient_norm: the gradient is clipped to this norm.
        kl_beta: weight of the reference KL; 0 for the KL-free surrogate.
        checkpoint_every: steps between saved adapters; step 0 is saved too.
        groups_per_batch: groups given to the model at once in an update.
        sampling: how rollouts are drawn.
        refill: what happens to silent groups.
    """

    campaign: str
    arm: str
    seed: int
    steps: int
    batch_prompts: int
    group_size: int
    learning_rate: float
    gradient_norm: float
    kl_beta: float
    checkpoint_every: int
    groups_per_batch: int
    sampling: Sampling
    refill: Refill

    @property
    def name(self) -> str:
        """The run's name, as it stands in paths and progress lines."""
        return f"{self.campaign}/{self.arm}/seed{self.seed}"


@dataclass
class RunLog:
    """What a run leaves: rows of the candidate groups, of the steps, and of the seconds."""

    groups: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    timings: list[dict[str, Any]] = field(default_factory=list)

    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """The three logs as tables."""
        return pd.DataFrame(self.groups), pd.DataFrame(self.steps), pd.DataFrame(self.timings)


class Trainer:
    """One run of one arm. `run` is the loop."""

    def __init__(
        self,
        plan: TrainingPlan,
        *,
        model: Any,
        engine: Engine,
        verifier: Verifier,
        pool: Sequence[Problem],
        template: Template,
        selector: Selector,
        posterior: BetaPosterior,
    ) -> None:
        """Put a run together.

        Args:
            plan: what to do.
            model: the policy with its adapter.
            engine: samples from that policy.
            verifier: grades the rollouts.
            pool: training problems; their order breaks ties.
            template: how a problem becomes a prompt.
            selector: orders the pool at each step.
            posterior: where each prompt's Beta posterior starts.
        """
        self.plan = plan
        self.model = model
        self.engine = engine
        self.verifier = verifier
        self.pool = pool
        self.prompts = [template.prompt(problem.problem) for problem in pool]
        self.selector = selector
        self.posterior = posterior
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            self.parameters, lr=plan.learning_rate, weight_decay=0.0, fused=True
        )
        for parameter in self.parameters:
            # A gradient of zeros rather than none: AdamW then steps on a wholly silent batch too.
            parameter.grad = torch.zeros_like(parameter)
        self.log = RunLog()
        self.seconds: dict[str, float] = {}

    def run(self, checkpoints: Path, report: Callable[[dict[str, Any]], None]) -> RunLog:
        """Train for `plan.steps` updates.

        Args:
            checkpoints: directory that takes one adapter directory a checkpoint.
            report: takes the row of each finished step.
        """
        self._save(checkpoints, 0)
        for step in range(1, self.plan.steps + 1):
            report(self.step(step))
            if step % self.plan.checkpoint_every == 0 or step == self.plan.steps:
                self._save(checkpoints, step)
        return self.log

    def step(self, step: int) -> dict[str, Any]:
        """One update: select, generate, verify, observe, update, log."""
        self.seconds = dict.fromkeys(("selection", "generation", "verification", "update"), 0.0)
        with self._timed("selection"):
            order, scores = self._select(step)
        groups = gather(
            order,
            self.plan.batch_prompts,
            self.plan.refill,
            lambda prompts, number: self._generate(step, prompts, number),
        )
        for group in groups:
            self.posterior.observe(group.prompt, group.correct, len(group.rewards))
        with self._timed("update"):
            parts, norm = self._update([group for group in groups if group.used])
        return self._record(step, groups, scores, parts, norm)

    def _stream_name(self, step: int, purpose: str) -> tuple[str | int, ...]:
        return (self.plan.campaign, self.plan.arm, self.plan.seed, step, purpose)

    def _select(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        plan = self.plan
        rounds = plan.refill.most_rounds if plan.refill.discard_silent else 1
        count = min(len(self.pool), rounds * plan.batch_prompts)
        generator = stream(*self._stream_name(step, "selection"))
        order = self.selector.order(self.posterior, plan.group_size, count, generator)
        return order[:count], self.posterior.expected_learnability(plan.group_size)

    def _generate(self, step: int, prompts: Sequence[int], number: int) -> list[CandidateGroup]:
        size = self.plan.group_size
        seeds = [
            stream_seed(*self._stream_name(step, "rollouts"), self.pool[i].id) for i in prompts
        ]
        with self._timed("generation"):
            results = self.engine.generate(
                [self.prompts[i] for i in prompts], size, self.plan.sampling, seeds
            )
        with self._timed("verification"):
            golds = [self.pool[i].answer for i in prompts for _ in range(size)]
            texts = [c.text for result in results for c in result.completions]
            verdicts, _ = self.verifier.grade(golds, texts)
            rewards = np.array([float(v is Verdict.correct) for v in verdicts]).reshape(-1, size)
        return [
            CandidateGroup(prompt, number, row, result)
            for prompt, row, result in zip(prompts, rewards, results, strict=True)
        ]

    def _update(self, used: list[CandidateGroup]) -> tuple[LossParts, float]:
        plan = self.plan
        self.optimizer.zero_grad(set_to_none=False)
        groups = [
            Group(
                group.completions.prompt_tokens,
                [completion.tokens for completion in group.completions.completions],
                group_advantages(group.rewards),
            )
            for group in used
        ]
        parts = backpropagate(
            self.model,
            groups,
            # Missing groups of a shortfall count too, each with zero gradient.
            total_sequences=plan.batch_prompts * plan.group_size,
            kl_beta=plan.kl_beta,
            groups_per_batch=plan.groups_per_batch,
        )
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, plan.gradient_norm)
        self.optimizer.step()
        return parts, float(norm)

    def _record(
        self,
        step: int,
        groups: list[CandidateGroup],
        scores: np.ndarray,
        parts: LossParts,
        norm: float,
    ) -> dict[str, Any]:
        for position, group in enumerate(groups):
            completions = group.completions.completions
            self.log.groups.append(
                {
                    "step": step,
                    "round": group.round,
                    "position": position,
                    "problem_id": self.pool[group.prompt].id,
                    "rollouts": len(completions),
                    "correct": group.correct,
                    "tokens": sum(len(c.tokens) for c in completions),
                    "truncated": sum(c.truncated for c in completions),
                    "used": group.used,
                    "expected_learnability": float(scores[group.prompt]),
                }
            )
        rollouts = sum(len(group.rewards) for group in groups)
        row = {
            "step": step,
            "loss": parts.loss,
            "reference_kl": parts.reference_kl,
            "gradient_norm": norm,
            "pass_rate": sum(group.correct for group in groups) / rollouts,
            "generated_groups": len(groups),
            "silent_groups": sum(group.silent for group in groups),
            "used_groups": sum(group.used for group in groups),
            "shortfall": self.plan.batch_prompts - sum(group.used for group in groups),
            "update_sequences": parts.sequences,
            "update_tokens": parts.tokens,
        }
        self.log.steps.append(row)
        self.log.timings.append({"step": step, **self.seconds})
        return row

    def _save(self, checkpoints: Path, step: int) -> None:
        self.model.save_pretrained(checkpoints / checkpoint_name(step))

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] += time.perf_counter() - start


def checkpoint_name(step: int) -> str:
    """Directory name of the adapter after a step; names sort by step."""
    return f"step-{step:05d}"

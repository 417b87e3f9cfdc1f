"""GRPO with a prompt selector in front: select, generate, verify, observe, update, log.

How this departs from standard GRPO, after the paper (Algorithm 1, Appendix F): one inner iteration,
no importance ratio and no clipping, no KL unless `kl_beta` is set, the sample standard deviation in
the advantage, the untempered log-likelihood; and the prompts of a step come from a selector over a
Beta posterior, which every generated group updates.
"""

from __future__ import annotations

import io
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from thinkprior.advantage import group_advantages
from thinkprior.digest import host
from thinkprior.errors import DisagreementError, NonFiniteError
from thinkprior.interruption import Interrupted, shielded
from thinkprior.loss import LossParts, backpropagate
from thinkprior.memory import memory_advice
from thinkprior.packing import Group
from thinkprior.posterior import BetaPosterior
from thinkprior.problems import Problem
from thinkprior.prompts import Template
from thinkprior.randomness import stream, stream_seed
from thinkprior.refill import CandidateGroup, Refill, gather
from thinkprior.rollouts import Engine, Sampling
from thinkprior.selection import Selector
from thinkprior.state import State
from thinkprior.verification import Verdict, Verifier

STEP_STATES = 2
"""Newest states that are kept: the last, and the one before it should the last be damaged."""


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
        activation_checkpointing: activations are computed anew in the backward pass.
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
    activation_checkpointing: bool = False

    @property
    def name(self) -> str:
        """The run's name, as it stands in paths and progress lines."""
        return f"{self.campaign}/{self.arm}/seed{self.seed}"


@dataclass
class RunLog:
    """What a run leaves.

    Attributes:
        groups, steps, timings: rows of the candidate groups, of the steps, and of their seconds.
        verifier: counts of the verifier over the steps in the log.
        sittings: each process that worked on the run: the first step that it did, and its host.
    """

    groups: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    timings: list[dict[str, Any]] = field(default_factory=list)
    verifier: dict[str, int] = field(default_factory=dict)
    sittings: list[dict[str, Any]] = field(default_factory=list)

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
        self.adapter = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.parameters = list(self.adapter.values())
        self.optimizer = torch.optim.AdamW(
            self.parameters, lr=plan.learning_rate, weight_decay=0.0, fused=True
        )
        for parameter in self.parameters:
            # A gradient of zeros rather than none: AdamW then steps on a wholly silent batch too.
            parameter.grad = torch.zeros_like(parameter)
        self.log = RunLog()
        self.done = 0
        self.state: State | None = None
        self.seconds: dict[str, float] = {}
        self.grading: Counter[str] = Counter()

    def run(
        self,
        checkpoints: Path,
        report: Callable[[dict[str, Any]], None],
        state: State | None = None,
        state_every: int = 1,
    ) -> RunLog:
        """Train for `plan.steps` updates, or for those that are left of them.

        Args:
            checkpoints: directory that takes one adapter directory a checkpoint.
            report: takes the row of each finished step.
            state: the run's state on disk, which it goes on from; without one it starts anew.
            state_every: steps between two writings of it.

        Raises:
            Interrupted: after the state of the last finished step was written.
        """
        self.state = state
        if state is not None:
            self._resume(checkpoints, state)
        if self.done < self.plan.steps:
            self.log.sittings.append({"first_step": self.done + 1, "host": host()})
        try:
            if self.done == 0:
                self._save(checkpoints)
            while self.done < self.plan.steps:
                report(self.step(self.done + 1))
                with shielded():
                    if self._is_checkpoint(self.done):
                        self._save(checkpoints)
                    if self.done % state_every == 0 or self.done == self.plan.steps:
                        self._write_state()
        except Interrupted:
            if self._is_checkpoint(self.done):
                self._save(checkpoints)
            self._write_state()
            raise
        return self.log

    def step(self, step: int) -> dict[str, Any]:
        """One update: select, generate, verify, update, observe, log.

        Up to the update nothing changes but gradients, so a step that is broken off there leaves
        the run as it was after the step before.
        """
        self.seconds = dict.fromkeys(("selection", "generation", "verification", "update"), 0.0)
        self.grading.clear()
        with self._timed("selection"):
            order, scores = self._select(step)
        groups = gather(
            order,
            self.plan.batch_prompts,
            self.plan.refill,
            lambda prompts, number: self._generate(step, prompts, number),
        )
        with self._timed("generation"):
            self.engine.rest()
        with self._timed("update"):
            parts, norm = self._gradient(step, [group for group in groups if group.used])
        with shielded():
            with self._timed("update"):
                self.optimizer.step()
            for group in groups:
                self.posterior.observe(group.prompt, group.correct, len(group.rewards))
            row = self._record(step, groups, scores, parts, norm)
            self.done = step
        return row

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
        advice = memory_advice(f"{self.plan.name} generated at step {step}", "engine.batch_rows")
        with self._timed("generation"), advice:
            try:
                results = self.engine.generate(
                    [self.prompts[i] for i in prompts], size, self.plan.sampling, seeds
                )
            except DisagreementError as error:
                raise DisagreementError(f"{self.plan.name}, step {step}: {error}") from error
            except NonFiniteError as error:
                raise self._non_finite(
                    step,
                    f"{error}",
                    [
                        {"problem_id": self.pool[i].id, "prompt": self.prompts[i], "seed": seed}
                        for i, seed in zip(prompts, seeds, strict=True)
                    ],
                    [self.pool[prompts[place]].id for place in error.prompts],
                ) from error
        with self._timed("verification"):
            golds = [self.pool[i].answer for i in prompts for _ in range(size)]
            texts = [c.text for result in results for c in result.completions]
            verdicts, counts = self.verifier.grade(golds, texts)
            self.grading.update(asdict(counts) if counts else {})
            rewards = np.array([float(v is Verdict.correct) for v in verdicts]).reshape(-1, size)
        return [
            CandidateGroup(prompt, number, row, result)
            for prompt, row, result in zip(prompts, rewards, results, strict=True)
        ]

    def _gradient(self, step: int, used: list[CandidateGroup]) -> tuple[LossParts, float]:
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
        setting = f"training.groups_per_batch (now {plan.groups_per_batch})"
        if not plan.activation_checkpointing:
            setting += " or set training.activation_checkpointing: true"
        with memory_advice(f"{plan.name} was updated at step {step}", setting):
            parts = backpropagate(
                self.model,
                groups,
                # Missing groups of a shortfall count too, each with zero gradient.
                total_sequences=plan.batch_prompts * plan.group_size,
                kl_beta=plan.kl_beta,
                groups_per_batch=plan.groups_per_batch,
                activation_checkpointing=plan.activation_checkpointing,
            )
            norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, plan.gradient_norm))
        if not (math.isfinite(parts.loss) and math.isfinite(norm)):
            ids = [self.pool[group.prompt].id for group in used]
            raise self._non_finite(
                step,
                f"the loss is {parts.loss} and the norm of its gradient {norm}",
                [
                    {
                        "problem_id": name,
                        "prompt_tokens": group.prompt_tokens.tolist(),
                        "completions": [tokens.tolist() for tokens in group.completions],
                        "advantages": group.advantages.tolist(),
                    }
                    for name, group in zip(ids, groups, strict=True)
                ],
                ids,
            )
        return parts, norm

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
        before = self.log.verifier
        self.log.verifier = {name: before.get(name, 0) + n for name, n in self.grading.items()}
        return row

    def _non_finite(
        self, step: int, what: str, groups: list[dict[str, Any]], ids: list[str]
    ) -> NonFiniteError:
        """The error for a step whose numbers are no numbers, after saving what it was given."""
        message = (
            f"{self.plan.name}, step {step}: {what}, at problems {', '.join(ids)}. "
            "The adapter is as it was before the step. Lower training.learning_rate, or look for "
            "the fault in the model or the machine."
        )
        if self.state is not None:
            path = self.state.beside(f"nonfinite-{checkpoint_name(step)}.pt")
            adapter = {name: weight.detach() for name, weight in self.adapter.items()}
            saved = {"plan": asdict(self.plan), "step": step, "groups": groups, "adapter": adapter}
            torch.save(saved, path)
            message += f" The step can be computed again from {path}."
        return NonFiniteError(message)

    def _is_checkpoint(self, step: int) -> bool:
        return step % self.plan.checkpoint_every == 0 or step == self.plan.steps

    def _save(self, checkpoints: Path) -> None:
        name = checkpoint_name(self.done)
        self.model.save_pretrained(checkpoints / name)
        if self.state is not None:
            # The directory is an output, which Snakemake deletes when a job fails.
            self.state.put_folder(f"adapter-{name}", checkpoints / name)

    def _write_state(self) -> None:
        if self.state is None:
            return
        saved = {
            "step": self.done,
            "adapter": {name: weight.detach() for name, weight in self.adapter.items()},
            "optimizer": self.optimizer.state_dict(),
            "correct": torch.from_numpy(self.posterior.correct),
            "wrong": torch.from_numpy(self.posterior.wrong),
            "log": asdict(self.log),
        }
        self.state.put(checkpoint_name(self.done), lambda file: torch.save(saved, file))
        self.state.keep_newest("step-", STEP_STATES)

    def _resume(self, checkpoints: Path, state: State) -> None:
        """Go on from the newest state that is whole, with the adapters that were saved before."""
        names = state.names("step-")
        for name in reversed(names):
            data = state.get(name)
            if data is None:
                continue
            saved = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
            before = map(checkpoint_name, filter(self._is_checkpoint, range(saved["step"] + 1)))
            if all(state.get_folder(f"adapter-{n}", checkpoints / n) for n in before):
                self._restore(saved)
                state.report(f"goes on after step {self.done}, from {state.folder / name}")
                return
        if names:
            state.report("starts anew: none of its states can be used")

    @torch.no_grad()
    def _restore(self, saved: dict[str, Any]) -> None:
        for name, weight in self.adapter.items():
            weight.copy_(saved["adapter"][name])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.posterior.correct[:] = saved["correct"].numpy()
        self.posterior.wrong[:] = saved["wrong"].numpy()
        self.log = RunLog(**saved["log"])
        self.done = saved["step"]

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

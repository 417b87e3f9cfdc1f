"""Training the miniature models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkprior.problems import normalised_text, read_problems
from thinkprior.progress import Progress


def train_model(
    name: str,
    settings: Mapping[str, Any],
    code: str,
    held_out: Sequence[Path | str],
    directory: Path | str,
    state: Path | str,
    log: Path | str,
) -> None:
    """Train a model and keep its checkpoints.

    Args:
        name: the model's name, which also names its random streams.
        settings: `model` (a models entry), `corpus` (its corpora entry), `template`, `threads`.
        code: digest of the code that the training depends on.
        held_out: problem files whose problems no model may see.
        directory: takes one model directory a kept step (`step-00400`).
        state: folder of the training's state while it is not finished.
        log: the job's log.
    """
    import torch

    from thinkprior.prompts import Template
    from thinkprior.state import State, job_identity
    from thinkprior.world.pretraining import ModelPlan, pretrain

    torch.set_num_threads(settings["threads"])
    progress = Progress(log, f"model {name}")
    model, corpus = settings["model"], settings["corpus"]
    plan = ModelPlan(
        name=name,
        seed=model["seed"],
        hidden_size=model["hidden_size"],
        layers=model["layers"],
        heads=model["heads"],
        intermediate_size=model["intermediate_size"],
        kinds=corpus["kinds"],
        forms=corpus["forms"],
        boxed_by_subject=corpus["boxed_by_subject"],
        steps=model["steps"],
        batch_size=model["batch_size"],
        learning_rate=model["learning_rate"],
    )
    exclude = {
        normalised_text(problem.problem) for path in held_out for problem in read_problems(path)
    }
    kept = [*model["checkpoints"], model["steps"]]

    def report(step: int, loss: float) -> None:
        left = progress.seconds_left(step, plan.steps)
        progress.line(f"step {step}/{plan.steps}  loss {loss:.3f}  {left:.0f} s left")

    inputs = {f"held out {place}": path for place, path in enumerate(held_out)}
    identity = job_identity({"name": name, **settings}, code, inputs)
    with State(state, identity, progress.line) as job_state:
        pretrain(
            plan,
            Template(settings["template"]),
            exclude,
            {step: Path(directory) / model_step(step) for step in kept},
            report,
            job_state,
        )
        job_state.finish()


def model_step(step: int) -> str:
    """Directory name of a model's kept step."""
    return f"step-{step:05d}"

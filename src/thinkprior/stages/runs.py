"""Training one run of one arm."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkprior.digest import write_manifest
from thinkprior.priors import read_prior
from thinkprior.problems import read_problems
from thinkprior.progress import Progress
from thinkprior.stages.problems import check_benchmarks


def train_run(
    settings: Mapping[str, Any],
    code: str,
    policy: Path | str,
    pool: Path | str,
    prior: Path | str | None,
    benchmarks: Mapping[str, Path | str],
    outputs: Mapping[str, Path | str],
    state: Path | str,
    state_every: int,
    log: Path | str,
) -> None:
    """Train one run and write its logs, its adapters and its manifest.

    A run that was ended before goes on from its state, to the same bytes. The state stays until the
    run's evaluation begins: only then is it certain that Snakemake has taken note of the outputs,
    and does not delete them as those of a job that was ended.

    Args:
        settings: what `thinkprior.plans.run_settings` gives for the run.
        code: digest of the code that the run depends on, for the manifest.
        policy: model directory of the policy.
        pool: problem file.
        prior: the arm's prior, or None where it starts uniform.
        benchmarks: benchmark files; a pool that shares a problem with one is refused.
        outputs: `groups`, `steps`, `timings` (Parquet), `checkpoints` (a directory) and `manifest`.
        state: folder of the run's state.
        state_every: steps between two writings of it; changes nothing in the run.
        log: the job's log.
    """
    from thinkprior.adapters import Lora, add_adapter
    from thinkprior.posterior import BetaPosterior
    from thinkprior.prompts import Template
    from thinkprior.randomness import stream_seed
    from thinkprior.selection import SELECTORS
    from thinkprior.stages.engines import policy_engine
    from thinkprior.state import State, job_identity
    from thinkprior.training import Trainer, TrainingPlan
    from thinkprior.verification import Verifier

    problems = read_problems(pool)
    check_benchmarks(problems, str(pool), benchmarks)
    if prior is None:
        posterior = BetaPosterior.uniform(len(problems))
    else:
        phi = read_prior(prior, [problem.id for problem in problems])
        posterior = BetaPosterior.from_prior(phi, settings["kappa"], settings["epsilon"])
    plan = TrainingPlan(**_plan(settings["plan"]))
    progress = Progress(log, plan.name)
    if prior is not None:
        progress.line(f"prior {prior} covers {len(problems)}/{len(problems)} prompts, miss=0")

    def adapt(model: Any) -> Any:
        seed = stream_seed(plan.campaign, plan.arm, plan.seed, "adapter")
        return add_adapter(model, Lora(**settings["lora"]), seed)

    model, engine = policy_engine(settings["engine"], policy, adapt)
    inputs = {"policy": policy, "pool": pool, **({} if prior is None else {"prior": prior})}
    with (
        State(state, job_identity(settings, code, inputs), progress.line) as run_state,
        Verifier(time_limit=settings["time_limit"]) as verifier,
    ):
        trainer = Trainer(
            plan,
            model=model,
            engine=engine,
            verifier=verifier,
            pool=problems,
            template=Template(settings["template"]),
            selector=SELECTORS[settings["selector"]](),
            posterior=posterior,
        )

        first_step: list[int] = []

        def report(row: Mapping[str, Any]) -> None:
            step = row["step"]
            first_step[:] = first_step or [step]
            done, of = step - first_step[0] + 1, plan.steps - first_step[0] + 1
            progress.line(
                f"step {step}/{plan.steps}  pass rate {row['pass_rate']:.2f}  silent "
                f"{row['silent_groups']}/{row['generated_groups']}  loss {row['loss']:+.4f}  "
                f"gradient {row['gradient_norm']:.3f}  "
                f"{progress.seconds_left(done, of):.0f} s left"
            )

        run_log = trainer.run(Path(outputs["checkpoints"]), report, run_state, state_every)
        groups, steps, timings = run_log.frames()
        groups.to_parquet(outputs["groups"], index=False)
        steps.to_parquet(outputs["steps"], index=False)
        timings.to_parquet(outputs["timings"], index=False)
        progress.line(f"verifier: {run_log.verifier}")
        # Of an engine with weights of its own; any other has the trainer's.
        if agreements := getattr(engine, "agreements", []):
            apart = max(agreement.mean for agreement in agreements)
            progress.line(
                f"sampler: adapters compared with the trainer's: {len(agreements)}; "
                f"log-probabilities apart by {apart:.2g} at most, in the mean of a completion"
            )
        silent = steps["silent_groups"].sum() / steps["generated_groups"].sum()
        progress.line(f"done: {len(groups)} groups, {silent:.3f} silent", show=True)
        write_manifest(
            outputs["manifest"],
            name=plan.name,
            settings=settings,
            code=code,
            inputs=list(inputs.values()),
            outputs=[outputs[key] for key in ("groups", "steps", "checkpoints")],
            verifier=run_log.verifier,
            sittings=run_log.sittings,
        )


def _plan(values: Mapping[str, Any]) -> dict[str, Any]:
    from thinkprior.refill import Refill
    from thinkprior.rollouts import Sampling

    sampling = values["sampling"]
    return {
        **values,
        "sampling": Sampling(**{**sampling, "stop": tuple(sampling.get("stop", ()))}),
        "refill": Refill(**values["refill"]),
    }

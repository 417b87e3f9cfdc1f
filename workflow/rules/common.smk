"""What the rules share: the checked configuration, paths, and code digests."""

import sys
from pathlib import Path

from thinkprior import configuration, plans
from thinkprior.digest import code_digest
from thinkprior.errors import InputError
from thinkprior.model_folders import check_models

try:
    configuration.check_files(workflow.configfiles)
    sources = ", ".join(map(str, workflow.configfiles))
    settings = configuration.parse(config, sources)
    plans.check_campaigns(settings, sources)
    check_models(settings)
except InputError as error:
    # One message without Snakemake's traceback: the fault is in the file that it names.
    print(f"error: {error}", file=sys.stderr)
    sys.exit(1)

scale_folder = f"results/{settings.scale}"
# Used with `--software-deployment-method conda` only; the tested path is the Makefile's.
environment = f"../../envs/{'cpu' if settings.engine.device == 'cpu' else 'gpu'}.yaml"


wildcard_constraints:
    pool="|".join(settings.data.pools),
    benchmark="|".join(settings.data.benchmarks),
    model="|".join([*settings.models, *settings.pretrained]),
    reference=r"[a-z0-9_]+@[0-9]+",
    campaign="|".join(settings.campaigns),
    arm="|".join(settings.arms),
    seed=r"\d+",
    kind="reference|anchor|thinking|respondent",


def under(path):
    """A path of the scale in force; wildcards stay."""
    return f"{scale_folder}/{path}"


def model_name(reference):
    """Name in a model reference, without its step."""
    return configuration.split_reference(reference)[0]


def kept_steps(reference):
    """Directory that holds all kept steps of a model."""
    return under(f"models/{model_name(reference)}")


def policy_of_run(wildcards):
    """The policy that the run's campaign trains."""
    return settings.campaigns[wildcards.campaign].policy


def model_folder(reference):
    """Directory of a model, for a reference such as `policy` or `respondent_a@600`."""
    step = plans.model_step_of(settings, reference)
    return f"{kept_steps(reference)}/step-{step:05d}"


def full_reference(reference):
    """A model reference with its step, as it stands in file names."""
    return f"{model_name(reference)}@{plans.model_step_of(settings, reference)}"


def responses(kind, reference, pool="{pool}"):
    """Responses of a model's pass over a pool."""
    return under(f"responses/{pool}/{kind}.{full_reference(reference)}.parquet")


def benchmark_files():
    """Benchmark name to its problem file."""
    return {
        name: under(f"data/benchmarks/{name}.jsonl")
        for name in settings.data.benchmarks
    }


def run_folder(campaign="{campaign}", arm="{arm}", seed="{seed}"):
    """Folder of one run."""
    return under(f"runs/{campaign}/{arm}/seed{seed}")


def runs_of(campaign):
    """(arm, seed) of every run of a campaign: all, or those whose evaluation is there already."""
    row = settings.campaigns[campaign]
    every = [(arm, seed) for arm in row.arms for seed in row.seeds]
    if not settings.finished_runs_only:
        return every
    return [
        (arm, seed)
        for arm, seed in every
        if Path(run_folder(campaign, arm, seed), "scores.csv").exists()
    ]


def run_files(campaign, *names):
    """Files of the runs of a campaign, grouped by name, in the order of `runs_of`."""
    return {
        name.partition(".")[0]: [
            f"{run_folder(campaign, arm, seed)}/{name}"
            for arm, seed in runs_of(campaign)
        ]
        for name in names
    }


def prior_of_run(wildcards):
    """The prior that the run's arm starts from; nothing for a uniform start."""
    name = plans.prior_name(settings, wildcards.campaign, wildcards.arm)
    pool = settings.campaigns[wildcards.campaign].pool
    return [] if name is None else under(f"priors/{pool}/{name}.csv")

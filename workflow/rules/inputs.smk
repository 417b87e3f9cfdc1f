"""What the rendering rules read, and what their outputs are shown as. No rules stand here."""

from thinkprior import availability, fixed_names
from thinkprior.report import items
from thinkprior.stages.document import check_latex


def made(name):
    """Whether this configuration can make a table, figure or number, by its fixed name."""
    return availability.available(settings, name)


def rendering(wildcards):
    """Where a file with a fixed name comes from at the scale in force."""
    file = f"{wildcards.name}.{wildcards.ending}"
    if message := availability.refusal(settings, file):
        print(f"error: {message}", file=sys.stderr)
        sys.exit(1)
    return under(fixed_names.SOURCES[file])


def reported(name, ending):
    """A file of an item of the report, with its caption, for `snakemake --report`."""
    item = items.ITEMS[name]
    return report(
        under(item.files[ending]),
        caption=f"../report/{name}.rst",
        category=items.section_of(item),
        labels={"what": item.title, "file": ending},
    )


REFILLING = ("dapo", "thinkprior_dapo")


def refilling_runs():
    """(arm, seed) of the runs of the main campaign whose silent groups are refilled."""
    return [(arm, seed) for arm, seed in runs_of("main") if arm in REFILLING]


def refilling_files(name):
    """A file of each of those runs."""
    return [f"{run_folder('main', arm, seed)}/{name}" for arm, seed in refilling_runs()]


def anchor_pass(campaign):
    """The anchor's responses on a campaign's pool."""
    row = settings.campaigns[campaign]
    return responses("anchor", row.anchor, row.pool)


def prior_file(campaign, arm, ending):
    """A file of the prior that an arm of a campaign starts from."""
    name = plans.prior_name(settings, campaign, arm)
    return under(f"priors/{settings.campaigns[campaign].pool}/{name}.{ending}")


def groups_of(campaign):
    """The groups logs of a campaign's runs."""
    return run_files(campaign, "groups.parquet").get("groups", [])


def reestimate_inputs():
    """What the table of windows reads of the re-estimate, where it is declared."""
    if "reestimate" not in settings.campaigns:
        return {}
    return {
        "reestimate": under("metrics/reestimate.csv"),
        "reestimate_steps": under("metrics/reestimate.steps.csv"),
        "reestimate_groups": groups_of("reestimate"),
    }


main_campaign = settings.campaigns["main"]
pair_campaign = plans.pair_campaign(settings)
first_batch = plans.first_batch_run(
    {campaign: runs_of(campaign) for campaign in (pair_campaign, "main")}
)


def prior_of(name, campaign=main_campaign):
    """A prior over a campaign's pool."""
    return under(f"priors/{campaign.pool}/{name}.csv")


def report_files(_):
    """Files of everything on the page; from a part of the runs, of what is there already."""
    files = [
        under(file)
        for item in items.all_items()
        if made(item.anchor)
        for file in item.files.values()
    ]
    if settings.finished_runs_only:
        return [file for file in files if Path(file).exists()]
    return files


def latex(_):
    """No file; without LaTeX it all ends here, not after an hour of training for the document."""
    try:
        check_latex()
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    return []


def set_in_document(kind, ending):
    """Files of all tables or figures; from a part of the runs, those that are there already."""
    names = [
        item.name
        for item in items.all_items()
        if item.kind == kind and made(item.anchor)
    ]
    files = [under(f"{kind}s/{name}.{ending}") for name in names]
    if settings.finished_runs_only:
        return [file for file in files if Path(file).exists()]
    return files


def costed_runs():
    """(campaign, arm, seed) of every run."""
    return [
        (campaign, arm, seed)
        for campaign in settings.campaigns
        for arm, seed in runs_of(campaign)
    ]


def costed_passes(*campaigns):
    """(pool, kind, full model reference) of the passes behind the campaigns' runs."""
    runs = [(name, arm) for name, arm, _ in costed_runs() if name in campaigns]
    return [
        (pool, kind, full_reference(reference))
        for pool, kind, reference in plans.passes(settings, runs)
    ]


def job_files(kind, ending):
    """Files under `benchmarks` or `usage` of the jobs of each costly stage."""
    passes = costed_passes(*settings.campaigns)
    runs = [f"{campaign}.{arm}.{seed}" for campaign, arm, seed in costed_runs()]
    policies = [settings.campaigns[campaign].policy for campaign, _, _ in costed_runs()]
    models = [*policies, *(reference for _, _, reference in passes)]
    jobs = {
        # A model from elsewhere costs a download or a link.
        "model": [
            name
            for name in dict.fromkeys(map(model_name, models))
            if name in settings.models
        ],
        "probe": [".".join(one) for one in passes],
        "train": runs,
        "evaluate": runs,
    }
    return {
        stage: [under(f"{kind}/{stage}/{job}.{ending}") for job in names]
        for stage, names in jobs.items()
    }


def cost_inputs(_):
    """Everything that the costs are read from."""
    passes = costed_passes(*settings.campaigns)
    banks = dict.fromkeys(pool for pool, kind, _ in passes if kind == "respondent")
    logs = ("groups.parquet", "timings.parquet", "manifest.json")
    return {
        **{f"benchmark_{k}": v for k, v in job_files("benchmarks", "tsv").items()},
        **{f"usage_{k}": v for k, v in job_files("usage", "json").items()},
        "benchmark_item_bank": [
            under(f"benchmarks/item_bank/{pool}.tsv") for pool in banks
        ],
        **{
            f"log_{log.partition('.')[0]}": [
                f"{run_folder(*run)}/{log}" for run in costed_runs()
            ]
            for log in logs
        },
        "responses": [
            under(f"responses/{pool}/{kind}.{reference}.parquet")
            for pool, kind, reference in passes
        ],
    }

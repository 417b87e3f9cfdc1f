"""What the pool is to its priors: Table 5, Appendix B and Figure 1."""

if made("table5"):

    localrules:
        table5,

    rule table5:
        input:
            pool=under(f"data/pools/{main_campaign.pool}.jsonl"),
            reference=responses("reference", main_campaign.policy, main_campaign.pool),
            anchor=prior_of(f"anchor.{main_campaign.anchor}"),
            bank=prior_of("bank"),
            length=prior_of(f"length.{main_campaign.policy}"),
            lengths=prior_of(f"length.{main_campaign.policy}.lengths"),
        output:
            csv=reported("table5", "csv"),
            tex=under("tables/table5.tex"),
            record=under("records/table5.json"),
        log:
            under("logs/tables/table5.log"),
        conda:
            environment
        params:
            settings=plans.pool_settings(settings),
            code=code_digest("thinkprior.stages.pool_figures"),
        message:
            "Rendering Table 5"
        script:
            "../scripts/table5.py"


if made("appendixB"):

    localrules:
        appendix_b,

    rule appendix_b:
        input:
            pool=under(f"data/pools/{main_campaign.pool}.jsonl"),
            reference=responses("reference", main_campaign.policy, main_campaign.pool),
            anchor=prior_of(f"anchor.{main_campaign.anchor}"),
            thinking=responses(
                "thinking", settings.probing.thinking_model, main_campaign.pool
            ),
            lengths=prior_of(f"length.{main_campaign.policy}.lengths"),
            groups=[
                f"{run_folder('main', arm, seed)}/groups.parquet"
                for arm, seed in runs_of("main")
                if arm == plans.OURS
            ],
        output:
            csv=reported("appendixB", "csv"),
            tex=under("tables/appendixB.tex"),
            underestimated_csv=reported("underestimated", "csv"),
            underestimated_tex=under("tables/underestimated.tex"),
            record=under("records/appendixB.json"),
        log:
            under("logs/tables/appendixB.log"),
        conda:
            environment
        params:
            settings=plans.pool_settings(settings),
            seeds=[seed for arm, seed in runs_of("main") if arm == plans.OURS],
            code=code_digest("thinkprior.stages.pool_figures"),
        message:
            "Rendering Appendix B"
        script:
            "../scripts/appendix_b.py"


if made("figure1"):

    localrules:
        figure1,

    rule figure1:
        input:
            pool=under(f"data/pools/{settings.campaigns[first_batch[0]].pool}.jsonl"),
            anchor=prior_of(
                f"anchor.{settings.campaigns[first_batch[0]].anchor}",
                settings.campaigns[first_batch[0]],
            ),
            groups=[
                f"{run_folder(first_batch[0], arm, first_batch[1])}/groups.parquet"
                for arm in first_batch[2]
            ],
        output:
            pdf=under("figures/figure1.pdf"),
            png=reported("figure1", "png"),
            csv=under("figures/figure1.csv"),
            caption=under("figures/figure1.txt"),
            record=under("records/figure1.json"),
        log:
            under("logs/figures/figure1.log"),
        conda:
            environment
        params:
            settings=plans.pool_settings(settings),
            campaign=first_batch[0],
            seed=first_batch[1],
            arms=first_batch[2],
            code=code_digest("thinkprior.stages.pool_figures"),
        message:
            "Drawing Figure 1"
        script:
            "../scripts/figure1.py"

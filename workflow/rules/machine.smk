"""The machine that the jobs are to run on, looked at before any of them starts."""

from thinkprior import machine


def check_machine():
    """Refuse to start jobs that would fail here; where a scheduler runs them, they ask themselves."""
    if workflow.non_local_exec or workflow.deployment_settings.deployment_method:
        return
    waiting = [job.rule.name for job in workflow.dag.needrun_jobs()]
    try:
        machine.check_machine(settings, scale_folder, waiting)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)

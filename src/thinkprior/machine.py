"""Whether this machine can run the jobs, asked before any of them starts.

What is wrong here would stop each job minutes or hours later, one after the other: no GPU, no vLLM,
too little memory on the card or beside it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkprior import plans
from thinkprior.configuration import Configuration, split_reference
from thinkprior.errors import InputError
from thinkprior.memory_plan import (
    GIB,
    VLLM_RUNNING,
    Architecture,
    MemoryPlan,
    read_architecture,
    sampling_plan,
    training_plan,
)
from thinkprior.workload import architectures_of

LOOK = """
import json, torch
cards = [torch.cuda.get_device_properties(i).total_memory for i in range(torch.cuda.device_count())]
print(json.dumps({"torch": torch.__version__, "cards": cards}))
"""

GPU_STAGES = ("probe", "train", "evaluate", "calibrate")
"""Rules whose jobs run a model."""


@dataclass(frozen=True)
class Machine:
    """What jobs here can have.

    Attributes:
        cards: memory of each GPU that torch sees, in bytes.
        memory: physical memory in bytes.
        torch: torch's version.
        vllm: whether vLLM is installed.
    """

    cards: tuple[int, ...]
    memory: int
    torch: str
    vllm: bool


def look(device: str) -> Machine:
    """This machine. GPUs are looked for where the device is one.

    In a process of its own: one that has asked for a GPU keeps some of its memory to its end.
    """
    cards: tuple[int, ...] = ()
    version = ""
    if device != "cpu":
        asked = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", LOOK],
            capture_output=True,
            text=True,
            check=False,
        )
        if asked.returncode != 0:
            last = (asked.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(f"engine.device: {device}, but torch cannot be asked for it: {last}.")
        found = json.loads(asked.stdout)
        cards, version = tuple(found["cards"]), found["torch"]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(cards, memory, version, importlib.util.find_spec("vllm") is not None)


def check_machine(
    config: Configuration,
    folder: Path | str,
    rules: Iterable[str],
    machine: Callable[[str], Machine] = look,
) -> None:
    """Refuse to start where jobs would fail for want of a GPU, of vLLM or of memory.

    Models that are not there yet and whose sizes are not known are left for their jobs to check.

    Args:
        config: the configuration.
        folder: the scale's folder.
        rules: names of the rules that have jobs to run.
        machine: looks at the machine.

    Raises:
        InputError: with one message that says what to change.
    """
    waiting = set(rules).intersection(GPU_STAGES)
    if not waiting:
        return
    here = machine(config.engine.device)
    check_engine(config.engine.name, config.engine.device, here)
    # The miniature's vocabulary is of no account beside what a process takes.
    architectures = architectures_of(config, 100, Path(folder))
    for what, plan in _plans(config, architectures, waiting, here):
        check_memory(what, plan, here, plans.engine_settings(config))


def check_job(
    what: str,
    settings: Mapping[str, Any],
    model: Path | str,
    machine: Callable[[str], Machine] = look,
) -> None:
    """The same for one job, on the machine that it came to.

    Args:
        what: the job, as printed.
        settings: its settings, with the section `engine`.
        model: model directory.
        machine: looks at the machine.

    Raises:
        InputError: as `check_machine`.
    """
    engine = settings["engine"]
    here = machine(engine["device"])
    check_engine("vllm" if "vllm" in engine else "transformers", engine["device"], here)
    sizes, card = read_architecture(model), min(here.cards, default=None)
    if "plan" in settings:
        plan = training_plan(sizes, settings, card)
    else:
        # A calibration generates once, at its highest cap.
        caps = {"max_new_tokens": max(settings["caps"])} if "caps" in settings else {}
        plan = sampling_plan(sizes, {**settings, **caps}, card)
    check_memory(what, plan, here, engine)


def check_engine(name: str, device: str, machine: Machine) -> None:
    """Refuse an engine that is not installed, or a device that is not there."""
    if device != "cpu" and not machine.cards:
        raise InputError(
            f"engine.device: {device} is asked for, but torch {machine.torch} sees no GPU here. "
            "Start it on a machine with one (nvidia-smi lists them), install the CUDA build of "
            "torch, or set engine.device: cpu."
        )
    if name == "vllm" and not machine.vllm:
        raise InputError(
            "engine.name: vllm is not installed beside this Python. Install it as docs/engines.md "
            "says, or set engine.name: transformers."
        )


def check_memory(what: str, plan: MemoryPlan, machine: Machine, engine: Mapping[str, Any]) -> None:
    """Refuse a job that the card or the machine has too little memory for."""
    if plan.on_card:
        card = min(machine.cards)
        _check_share(what, plan, card, engine)
        if plan.peak > card:
            raise InputError(
                f"{what} needs {_gib(plan.peak)} on the card, which has {_gib(card)}: "
                f"{_parts(plan.largest)}. {_advice(plan.largest)}"
            )
        host = sum(plan.host.values())
        if host > machine.memory:
            raise InputError(
                f"{what} needs {_gib(host)} of host memory, of which this machine has "
                f"{_gib(machine.memory)}: {_parts(plan.host)}. Set engine.vllm.sleep: false if the "
                "card has room for both, or engine.name: transformers, which shares the weights."
            )
    elif plan.certain > machine.memory:
        raise InputError(
            f"{what} needs {_gib(plan.certain)} of memory at least, of which this machine has "
            f"{_gib(machine.memory)}; at the caps on tokens: {_parts(plan.largest)}. "
            f"{_advice(plan.largest)}"
        )


def _check_share(what: str, plan: MemoryPlan, card: int, engine: Mapping[str, Any]) -> None:
    """Refuse a share of the card in which vLLM could not start."""
    if "vllm" not in engine:
        return
    parts = plan.device["rollout"]
    needed = parts["vLLM's weights"] + VLLM_RUNNING
    share = engine["vllm"]["gpu_memory_utilization"]
    if share * card < needed:
        raise InputError(
            f"{what}: engine.vllm.gpu_memory_utilization: {share} of {_gib(card)} is less than the "
            f"{_gib(needed)} that vLLM takes before its cache. Raise it."
        )


def _plans(
    config: Configuration,
    architectures: Mapping[str, Architecture | None],
    waiting: set[str],
    machine: Machine,
) -> Iterable[tuple[str, MemoryPlan]]:
    """What is planned, once for each model and kind of job, with its memory."""
    card = min(machine.cards, default=None)
    seen: set[tuple[str, str, float]] = set()
    for name, row in config.campaigns.items():
        policy = split_reference(row.policy)[0]
        sizes = architectures[policy]
        if sizes is None or ("train", policy, row.kl_beta) in seen:
            continue
        seen.add(("train", policy, row.kl_beta))
        label = f"of {config.label_of(policy)}"
        if "train" in waiting:
            settings = plans.run_settings(config, name, row.arms[0], row.seeds[0])
            yield f"training {label}", training_plan(sizes, settings, card)
        if "evaluate" in waiting:
            settings = plans.evaluation_settings(config, name)
            yield f"the evaluation {label}", sampling_plan(sizes, settings, card)
    if "probe" not in waiting:
        return
    runs = [(name, arm) for name, row in config.campaigns.items() for arm in row.arms]
    for _, kind, reference in plans.passes(config, runs):
        sizes = architectures[split_reference(reference)[0]]
        if sizes is not None:
            settings = plans.probe_settings(config, kind, reference)
            label = f"the {kind} pass of {config.label_of(reference)}"
            yield label, sampling_plan(sizes, settings, card)


ADVICE = {
    "merged copy": "set engine.merged_sampler: false",
    "activations": "set training.activation_checkpointing: true, lower training.groups_per_batch",
    "layers computed anew": "lower training.groups_per_batch",
    "cache": "lower engine.batch_rows",
    "decoding": "lower engine.batch_rows",
    "vLLM's cache": "lower engine.vllm.gpu_memory_utilization or, without a GPU, cpu_cache_gib",
    "vLLM's weights": "set engine.name: transformers or, on a card, engine.vllm.sleep: true",
    "weights": "take engine.dtype: bfloat16, a smaller model or a larger card",
}


def _advice(parts: Mapping[str, int]) -> str:
    """What to change, for the largest parts first."""
    order = sorted(parts, key=lambda name: parts[name], reverse=True)
    # The weights themselves last: what can be changed without another result comes first.
    order.sort(key=lambda name: name == "weights")
    lines = [ADVICE[name] for name in order if name in ADVICE]
    return f"In order of gain: {'; '.join(dict.fromkeys(lines))} (docs/memory.md)."


def _parts(parts: Mapping[str, int]) -> str:
    order = sorted(parts, key=lambda name: parts[name], reverse=True)
    return ", ".join(f"{name} {parts[name] / GIB:.1f}" for name in order)


def _gib(size: float) -> str:
    return f"{size / GIB:.1f} GiB"

"""The tables of docs/memory.md: the paper's shapes on cards of several sizes.

`python -m thinkprior.memory_table` writes them into the file; a test fails when they drift.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinkprior import configuration, plans
from thinkprior.memory_plan import ARCHITECTURES, GIB, MemoryPlan, training_plan

DOCUMENT = Path("docs/memory.md")
BEGIN, END = "<!-- written by thinkprior.memory_table -->\n", "<!-- until here -->\n"

CAMPAIGN, POLICY = "main", "Qwen/Qwen2.5-Math-7B"


@dataclass(frozen=True)
class Column:
    """A card and what is set for it.

    Attributes:
        title: what it is called.
        memory: GiB that torch reports of such a card.
        changes: what differs from config/paper.yaml.
    """

    title: str
    memory: float
    changes: Mapping[str, Any] = field(default_factory=dict)


SHARED = {"engine": {"name": "transformers"}}
MERGED = {"engine": {"name": "transformers", "merged_sampler": True}}
BOTH = {"engine": {"vllm": {"sleep": False, "gpu_memory_utilization": 0.45}}}

COLUMNS = (
    Column("24 GB: vLLM, taking turns", 23.6),
    Column("24 GB: transformers", 23.6, SHARED),
    Column("40 GB: transformers, merged copy", 39.4, MERGED),
    Column("48 GB: vLLM beside the trainer", 47.4, BOTH),
    Column("80 GB: vLLM beside the trainer", 79.1, BOTH),
)

SETTINGS = (
    "engine.name",
    "engine.batch_rows",
    "engine.merged_sampler",
    "engine.vllm.sleep",
    "engine.vllm.gpu_memory_utilization",
    "training.activation_checkpointing",
    "training.groups_per_batch",
)


def tables(folder: Path = Path()) -> str:
    """Settings and memory by part, as Markdown.

    Args:
        folder: the project's folder, which config/paper.yaml is in.
    """
    values = configuration.load(folder / "config/paper.yaml")
    columns = [(column, _merged(values, column.changes)) for column in COLUMNS]
    made = [_plan(column, settings) for column, settings in columns]
    titles = [column.title for column, _ in columns]
    lines = _head("setting", titles)
    lines += [
        _line(f"`{key}`", [_setting(settings, key) for _, settings in columns]) for key in SETTINGS
    ]
    for phase in ("rollout", "update"):
        lines += ["", *_head(f"GiB in the {phase} phase", titles)]
        lines += _parts([plan.device[phase] for plan in made])
    memory = [column.memory for column, _ in columns]
    lines.append(_line("the card has", [f"{one:.1f}" for one in memory]))
    lines.append(
        _line(
            "left at the larger of the two peaks",
            [f"{one - plan.peak / GIB:.1f}" for one, plan in zip(memory, made, strict=True)],
        )
    )
    lines += ["", *_head("GiB of host memory", titles), *_parts([plan.host for plan in made])]
    return "\n".join(lines) + "\n"


def written(text: str, new: str) -> str:
    """A document with its tables replaced."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{new}\n{END}{after}"


def _merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(values)
    for key, change in changes.items():
        nested = isinstance(change, Mapping)
        merged[key] = _merged(merged[key], change) if nested else change
    return merged


def _plan(column: Column, values: dict[str, Any]) -> MemoryPlan:
    config = configuration.parse(values, column.title)
    row = config.campaigns[CAMPAIGN]
    settings = plans.run_settings(config, CAMPAIGN, row.arms[0], row.seeds[0])
    return training_plan(ARCHITECTURES[POLICY], settings, int(column.memory * GIB))


def _setting(values: Any, key: str) -> str:
    if key.startswith("engine.vllm") and values["engine"]["name"] != "vllm":
        return ""
    for part in key.split("."):
        values = values[part]
    return str(values).lower() if isinstance(values, bool) else str(values)


def _parts(columns: Iterable[Mapping[str, int]]) -> list[str]:
    columns = list(columns)
    names = list(dict.fromkeys(name for parts in columns for name in parts))
    # Allowances after what is computed.
    names.sort(key=lambda name: "allowance" in name)
    lines = [
        _line(name, [f"{parts[name] / GIB:.2f}" if name in parts else "" for parts in columns])
        for name in names
    ]
    totals = [f"**{sum(parts.values()) / GIB:.1f}**" for parts in columns]
    return [*lines, _line("**sum**", totals)]


def _head(first: str, titles: list[str]) -> list[str]:
    return [_line(first, titles), "|" + " --- |" + " ---: |" * len(titles)]


def _line(first: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join([first, *cells])} |"


def main() -> None:
    """Write the tables into docs/memory.md."""
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(written(text, tables()), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The arms of a comparison as the tables and figures show them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Block = Literal["no_selection", "published", "ablation", "verified_prior", "composition"]

BLOCKS: tuple[Block, ...] = get_args(Block)
"""The blocks of Table 1, in the paper's order."""

BLOCK_HEADINGS: Mapping[Block, str] = {
    "no_selection": "No selection",
    "published": "Published selection strategies: every one reads an online signal from the policy",
    "ablation": "Our two components, ablated: prior × online posterior",
    "verified_prior": "Verifier-scored zero-rollout difficulty priors: "
    "none reads a rollout of the policy being trained",
    "composition": "ThinkPrior+DAPO composition",
}
"""The paper's block headings of Table 1, as plain text."""


@dataclass(frozen=True)
class ArmRow:
    """How one arm is shown.

    Attributes:
        name: The arm's name in the metric tables.
        label: The method as printed; plain text, escaped where it is set.
        block: The block of Table 1 in which it stands.
        fixed_budget: Whether every step generates exactly B * G rollouts.
        ours: Whether the row is the paper's own method.
    """

    name: str
    label: str
    block: Block
    fixed_budget: bool
    ours: bool

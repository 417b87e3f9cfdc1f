"""The paper's benchmarks, and the accuracies that a table or figure shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

ALONG_THE_RUN = "math500"
"""The paper's benchmark that is evaluated at every checkpoint; the others only at the end."""

HARDEST_LEVEL = 5
"""The level whose problems get an accuracy of their own, on the benchmark along the run."""

LABELS: Mapping[str, str] = {
    "math500": "MATH500",
    "gsm8k": "GSM8K",
    "minerva_math": "Minerva",
    "olympiadbench": "Olympiad",
}
"""The paper's benchmarks as its tables name them, in its order."""


@dataclass(frozen=True)
class Accuracies:
    """Which accuracies there are; by default the paper's.

    Attributes:
        along: the benchmark that is evaluated at every checkpoint.
        labels: every benchmark to its label.
    """

    along: str = ALONG_THE_RUN
    labels: Mapping[str, str] = field(default_factory=lambda: dict(LABELS))

    @property
    def first(self) -> str:
        """The benchmark that stands for accuracy: MATH500, or else the one along the run."""
        return ALONG_THE_RUN if ALONG_THE_RUN in self.labels else self.along

    @property
    def levels(self) -> str:
        """Column of the hardest level's accuracy, where the benchmark along the run has levels."""
        return f"{self.along}_level{HARDEST_LEVEL}"

    @property
    def first_label(self) -> str:
        """Label of `first`."""
        return self.labels[self.first]

    @property
    def along_label(self) -> str:
        """Label of `along`."""
        return self.labels[self.along]

    @property
    def left_out(self) -> list[str]:
        """Labels of the paper's benchmarks that are not among them."""
        return [label for name, label in LABELS.items() if name not in self.labels]

    def columns(self, found: Collection[str]) -> dict[str, str]:
        """Columns of a table of all accuracies, with their headings, in the paper's order.

        Args:
            found: columns that the metrics have, which say whether there are levels.
        """
        known = [name for name in LABELS if name in self.labels]
        order = [*known, *(name for name in self.labels if name not in LABELS)]
        columns = {}
        for name in order:
            columns[name] = self.labels[name]
            if name == self.along and self.levels in found:
                columns[self.levels] = self.level_heading
        return columns

    @property
    def level_heading(self) -> str:
        """Heading of the hardest level's column."""
        hardest = f"Level-{HARDEST_LEVEL}"
        return hardest if self.along == ALONG_THE_RUN else f"{self.along_label} {hardest}"

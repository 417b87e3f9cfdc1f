"""Which comparator each published number has: the checked-in rules, first match first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from thinkprior.errors import InputError
from thinkprior.reproduction.comparators import (
    Comparator,
    Locator,
    NotComparable,
    RelationBase,
    Strict,
)
from thinkprior.reproduction.published import PublishedRow

Pattern = str | list[str]


class Match(Strict):
    """Which published rows a rule is for; a field is a name, a list of names, or has `*`."""

    table: Pattern = "*"
    setting: Pattern = "*"
    arm: Pattern = "*"
    metric: Pattern = "*"

    def fits(self, row: PublishedRow) -> bool:
        """Whether every field does."""
        fields = zip((self.table, self.setting, self.arm, self.metric), row.key, strict=True)
        return all(
            any(fnmatchcase(name, one) for one in ([wanted] if isinstance(wanted, str) else wanted))
            for wanted, name in fields
        )


class Rule(Strict):
    """A comparator, the rows that it is for, and why.

    Attributes:
        match: The rows.
        comparator: What counts as the same.
        why: Why this is what can be compared, in plain words.
        settings: Our settings to look in, in order, where not those of the whole file.
    """

    match: Match
    comparator: Comparator = Field(discriminator="kind")
    why: str = Field(min_length=1)
    settings: list[str] | None = None


class Rules(Strict):
    """The checked-in file.

    Attributes:
        designed_scales: Scales whose world was chosen towards some of the paper's numbers.
        settings: The published setting and ours: several, where the paper does not state the
            campaign, in the order in which they are looked in.
        rules: In order: the first that matches a row is its rule.
    """

    designed_scales: list[str]
    settings: Mapping[str, list[str]]
    rules: list[Rule]

    def rule_for(self, row: PublishedRow) -> Rule:
        """The first rule that matches.

        Raises:
            InputError: where none does.
        """
        for rule in self.rules:
            if rule.match.fits(row):
                return rule
        raise InputError(f"no comparator matches {' / '.join(row.key)}: add a rule")

    def our_settings(self, row: PublishedRow) -> Sequence[str]:
        """Where our number for a row stands, in order of preference.

        Raises:
            InputError: for a published setting that is not in the file.
        """
        rule = self.rule_for(row)
        if rule.settings is not None:
            return rule.settings
        if row.setting not in self.settings:
            raise InputError(
                f"the published setting {row.setting!r} of {row.table} has none of ours: "
                "add it to settings"
            )
        return self.settings[row.setting]


def read_rules(path: Path | str) -> Rules:
    """The rules of a file.

    Raises:
        InputError: naming the file and the place in it.
    """
    try:
        return Rules.model_validate(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {place}: {first['msg']}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not YAML: {error}") from None


def located(locator: Locator, row: PublishedRow) -> tuple[str, str, str, str]:
    """The published name that a locator of a row's rule means."""
    names = {
        "table": row.table,
        "setting": row.setting,
        "arm": row.arm,
        "metric": row.metric,
    }
    return (
        locator.table.format(**names),
        locator.setting.format(**names),
        locator.arm.format(**names),
        locator.metric.format(**names),
    )


def relation_of(comparator: Comparator) -> RelationBase | None:
    """The relation that a comparator compares, if it has one at any scale."""
    return comparator.otherwise if isinstance(comparator, NotComparable) else comparator


def locators(comparator: Comparator) -> list[Locator]:
    """Every other published number that a comparator names."""
    relation = relation_of(comparator)
    if relation is None:
        return []
    named = [relation.reference, relation.difference, *(relation.between or ())]
    return [locator for locator in named if locator is not None]

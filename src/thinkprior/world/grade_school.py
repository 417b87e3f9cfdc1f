"""Grade-school word problems in plain English: seven topics in five levels.

A problem is a start and events, each a sentence: an amount, a number that is added, taken away, or
that turns the amount into another thing (each tree gives 3 apples; the pupils sit in groups of 4).
The level says how many steps lead to the answer, and how large the numbers are:

1. one amount and one change, numbers up to 10;
2. so many times so much;
3. so many times so much, and one change;
4. and then another thing;
5. an addition and a subtraction, then another thing, numbers up to 20.

Each answer is checked by undoing the events from the last to the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Literal

from thinkprior.world.templates import Draft

Operation = Literal["+", "-", "*", "/"]

NAMES = (
    *("Ana", "Ben", "Carla", "David", "Emma", "Felix", "Grace", "Hugo", "Ivy", "Jack", "Kira"),
    *("Leo", "Mia", "Noah", "Olga", "Paul", "Rosa", "Sam", "Tara", "Victor", "Wendy", "Yusuf"),
)


@dataclass(frozen=True)
class Topic:
    """The sentences of a topic; `{n}` and `{k}` are numbers, `{name}` a name, `{thing}` a word.

    Attributes:
        things: words for what is counted.
        amount: a start of one number.
        product: a start of two numbers, k times n.
        more, less: what adds to the amount, and what takes from it.
        times: what turns each thing into n others, and what these are.
        shares: what turns n things into one other, and what that is.
        question: asks for the thing, `{what}`.
    """

    things: tuple[str, ...]
    amount: str
    product: str
    more: tuple[str, ...]
    less: tuple[str, ...]
    times: tuple[tuple[str, str], ...]
    shares: tuple[tuple[str, str], ...]
    question: str


TOPICS: dict[str, Topic] = {
    "Collections": Topic(
        things=("marbles", "stickers", "stamps", "coins", "cards", "shells"),
        amount="{name} has {n} {thing}.",
        product="{name} has {k} boxes with {n} {thing} in each box.",
        more=("Then {name} finds {n} more.", "A friend brings {n} more {thing}."),
        less=("Then {name} gives {n} of them away.", "Then {name} loses {n} {thing}."),
        times=(("{name} trades each of them for {n} beads.", "beads"),),
        shares=(("{name} puts them all into bags of {n}.", "bags"),),
        question="How many {what} are there now?",
    ),
    "Shopping": Topic(
        things=("pens", "books", "toys", "cups", "hats", "balls"),
        amount="{name} buys a bag of {thing} for {n} dollars.",
        product="{name} buys {k} {thing} for {n} dollars each.",
        more=(
            "{name} also buys a lamp for {n} dollars.",
            "{name} pays {n} dollars for delivery, too.",
        ),
        less=(
            "A coupon takes {n} dollars off the total.",
            "The shop gives {n} dollars back.",
        ),
        times=(("For each dollar spent, {name} gets {n} points.", "points"),),
        shares=(("{name} pays with bills of {n} dollars each.", "bills"),),
        question="How many {what} is that in total?",
    ),
    "Baking": Topic(
        things=("muffins", "cookies", "rolls", "pies", "tarts"),
        amount="{name} bakes {n} {thing}.",
        product="{name} bakes {k} trays of {thing}, with {n} on each tray.",
        more=("After lunch {name} bakes {n} more.", "A neighbor brings {n} more {thing}."),
        less=("The children eat {n} of them.", "{name} burns {n} of the {thing}."),
        times=(("On each one that is left {name} puts {n} cherries.", "cherries"),),
        shares=(("The rest is packed into boxes of {n}.", "boxes"),),
        question="How many {what} are there in the end?",
    ),
    "Travel": Topic(
        things=("miles", "kilometers"),
        amount="{name} rides {n} {thing} in the morning.",
        product="{name} rides {n} {thing} each day for {k} days.",
        more=("After that {name} rides {n} {thing} more.",),
        less=("Of all that, {n} {thing} were by bus and do not count.",),
        times=(("For each one that counts, a sponsor gives {n} dollars.", "dollars"),),
        shares=(("There is one stop after every {n} of those {thing}.", "stops"),),
        question="How many {what} does that make?",
    ),
    "School": Topic(
        things=("pupils", "students", "children"),
        amount="A class has {n} {thing}.",
        product="A school has {k} classes of {n} {thing}.",
        more=("Then {n} new {thing} join.", "One morning {n} more {thing} visit."),
        less=("Today {n} of the {thing} are ill.", "Then {n} {thing} move away."),
        times=(("Each of those who are there gets {n} pencils.", "pencils"),),
        shares=(("All who are there sit down in groups of {n}.", "groups"),),
        question="How many {what} are there?",
    ),
    "Gardening": Topic(
        things=("apple trees", "rose bushes", "pear trees", "cherry trees"),
        amount="{name} plants {n} {thing}.",
        product="A garden has {k} rows of {n} {thing}.",
        more=("In spring {n} more {thing} are planted.",),
        less=("A storm breaks {n} of the {thing}.", "Then {n} {thing} are cut down."),
        times=(("Each one that stands needs {n} buckets of water.", "buckets of water"),),
        shares=(("One gardener looks after {n} of those that stand.", "gardeners"),),
        question="How many {what} is that?",
    ),
    "Reading": Topic(
        things=("pages", "poems", "letters"),
        amount="{name} reads {n} {thing} on Monday.",
        product="{name} reads {n} {thing} each evening for {k} evenings.",
        more=("On Sunday {name} reads {n} more {thing}.",),
        less=("It turns out that {n} of the {thing} were read twice and count once.",),
        times=(("{name} needs {n} minutes for each one that counts.", "minutes"),),
        shares=(("{name} writes one note for every {n} that count.", "notes"),),
        question="How many {what} is that all together?",
    ),
}

LEVELS = (1, 2, 3, 4, 5)


def word_problem(rng: Random, topic: Topic, level: int) -> Draft:
    """One problem of a topic and level; see the module's docstring."""
    while True:
        draft = _tried(rng, topic, level)
        if draft is not None:
            return draft


def _tried(rng: Random, topic: Topic, level: int) -> Draft | None:
    """A problem, or None where the numbers leave nothing to take away or to share out evenly."""
    most = 20 if level == 5 else 10
    name, thing = rng.choice(NAMES), rng.choice(topic.things)
    what = "dollars" if topic is TOPICS["Shopping"] else thing
    n = rng.randint(2, most)
    k = 1 if level == 1 else rng.randint(2, 9 if level == 5 else 5)
    value = k * n
    sentences = [(topic.amount if level == 1 else topic.product)]
    steps: list[tuple[Operation, int]] = []
    for operation in _operations(rng, level):
        candidates = [d for d in range(2, most + 1) if _possible(value, operation, d)]
        if not candidates:
            return None
        number = rng.choice(candidates)
        if operation in ("+", "-"):
            sentence = rng.choice(topic.more if operation == "+" else topic.less)
        else:
            sentence, what = rng.choice(topic.times if operation == "*" else topic.shares)
        sentences.append(sentence.replace("{n}", str(number)))
        steps.append((operation, number))
        value = _apply(value, operation, number)
    sentences.append(topic.question)
    text = " ".join(sentences).format(name=name, thing=thing, what=what, n=n, k=k)
    return Draft(text, str(value), _working(n, k, steps), _undone(value, steps) == k * n)


def _operations(rng: Random, level: int) -> list[Operation]:
    """What happens to the start, in order."""
    changes: list[Operation] = ["+", "-"]
    rng.shuffle(changes)
    last: Operation = rng.choice(("*", "/"))
    return [*changes[: {1: 1, 2: 0, 3: 1, 4: 1, 5: 2}[level]], *([last] if level >= 4 else [])]


def _possible(value: int, operation: Operation, number: int) -> bool:
    """Whether something is left, all parts are whole, and the numbers stay those of a pupil."""
    return {
        "+": True,
        "-": number < value,
        "*": number <= 5,
        "/": number < 10 and value % number == 0 and value > number,
    }[operation]


def _apply(value: int, operation: Operation, number: int) -> int:
    results = {"+": value + number, "-": value - number, "*": value * number, "/": value // number}
    return results[operation]


def _undone(value: int, steps: list[tuple[Operation, int]]) -> int:
    """What the start must have been for the steps to end at a value."""
    inverse: dict[Operation, Operation] = {"+": "-", "-": "+", "*": "/", "/": "*"}
    for operation, number in reversed(steps):
        value = _apply(value, inverse[operation], number)
    return value


def _working(n: int, k: int, steps: list[tuple[Operation, int]]) -> str:
    value = k * n
    parts = [f"{k}*{n}={value}"] if k > 1 else []
    for operation, number in steps:
        after = _apply(value, operation, number)
        parts.append(f"{value}{operation}{number}={after}")
        value = after
    return " ".join(parts)


GRADE_SCHOOL: dict[str, tuple[Callable[[Random], Draft], ...]] = {
    name: tuple(partial(word_problem, topic=topic, level=level) for level in LEVELS)
    for name, topic in TOPICS.items()
}
"""Topic to its templates, one a level."""

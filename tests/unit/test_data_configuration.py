"""The configuration of real data: what is refused, what each rule is given."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from thinkprior import plans
from thinkprior.configuration import Configuration, load, parse
from thinkprior.errors import InputError

PROJECT = Path(__file__).resolve().parents[2]
SMALL = load(Path(__file__).parent / "small.yaml")
POOLS = {"pool20": {"size": 20, "seed": 0}}
MATH500 = {"label": "MATH500", "dataset": "math500"}
GSM8K = {"label": "GSM8K", "dataset": "gsm8k_test", "size": 100}
HUB = {
    "math_train": {"repository": "owner/math", "files": ["train-*"]},
    "math500": {"repository": "owner/math500", "files": ["test.jsonl"]},
}


def configuration(**data: Any) -> Configuration:
    values = copy.deepcopy(SMALL)
    values["data"] = {"seed": 0, "pools": POOLS, **data}
    return parse(values, "small.yaml")


def local(**data: Any) -> Configuration:
    return configuration(
        **{"source": "local", "folder": "x", "benchmarks": {"math500": MATH500}, **data}
    )


def test_data_sets_of_a_local_folder() -> None:
    config = local(benchmarks={"math500": MATH500, "gsm8k": GSM8K})
    assert plans.datasets(config, "local") == ["math_train", "math500", "gsm8k_test"]
    assert plans.datasets(config, "hub") == []
    assert plans.dataset_settings(config) == {
        "seed": 0,
        "training_set": "math_train",
        "benchmarks": {
            "math500": {"dataset": "math500", "size": 0},
            "gsm8k": {"dataset": "gsm8k_test", "size": 100},
        },
    }


def test_data_sets_of_the_hub() -> None:
    config = local(source="hub", hub=HUB)
    assert plans.datasets(config, "local") == []
    assert plans.download_settings(config)["datasets"]["math500"] == {
        "repository": "owner/math500",
        "files": ["test.jsonl"],
        "revision": "",
        "sha256": {},
    }


def test_generated_pools_with_a_data_set_for_evaluation_only() -> None:
    config = configuration(
        source="generated",
        benchmark_source="local",
        source_per_cell=4,
        benchmarks={"math500": SMALL["data"]["benchmarks"]["math500"], "gsm8k": GSM8K},
    )
    assert plans.datasets(config, "local") == ["gsm8k_test"]
    assert list(plans.data_settings(config)["benchmarks"]) == ["math500"]
    assert list(plans.dataset_settings(config)["benchmarks"]) == ["gsm8k"]


def test_generated_problems_are_given_what_they_were_before() -> None:
    # Anything else would make every artifact of a generated scale stale.
    assert plans.data_settings(parse(SMALL, "small.yaml")) == {
        "seed": 0,
        "source_per_cell": 4,
        "benchmarks": {"math500": {"kind": "math", "size": 35}},
    }


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"training_set": "math500"}, r"data.training_set: math500 is a test split; pools are"),
        ({"training_set": "math_test"}, r"data.training_set: math_test is a test split"),
        ({"training_set": "math_trian"}, r"data.training_set: .*did you mean 'math_train'\?"),
        (
            {"benchmarks": {"math500": {"label": "M", "dataset": "math_train"}}},
            r"data.benchmarks.math500.dataset: math_train is a train split",
        ),
        (
            {"benchmarks": {"math500": {"label": "M", "dataset": "math5000"}}},
            r"data.benchmarks.math500.dataset: .*did you mean 'math500'\?",
        ),
        (
            {"benchmarks": {"math500": {"label": "M", "kind": "math", "size": 3}}},
            r"data.benchmarks.math500.kind: data.source is local, so nothing is generated",
        ),
        (
            {"benchmarks": {"math500": {"label": "M"}}},
            r"data.benchmarks.math500.kind: a benchmark has either a kind or a dataset",
        ),
        (
            {"benchmarks": {"math500": {"label": "M", "kind": "math"}}},
            r"data.benchmarks.math500.size: how many problems of kind math\?",
        ),
        ({"source": "hub"}, r"data.hub \(training_set\): 'math_train' is not defined"),
        (
            {"source": "hub", "hub": {**HUB, "math500": {**HUB["math500"], "revision": "main"}}},
            r"data.hub.math500.revision: .*found 'main'",
        ),
        (
            {"source": "hub", "hub": {**HUB, "math500": {**HUB["math500"], "sha265": {}}}},
            r"data.hub.math500.sha265: unknown key; did you mean 'sha256'\?",
        ),
        (
            {"source": "generated", "source_per_cell": 3},
            r"data.benchmark_source: is math500 in a local folder or on the hub\?",
        ),
        ({"source": "generated"}, r"data.source_per_cell: needed where"),
        ({"source": "web"}, r"data.source: .*found 'web'"),
    ],
)
def test_a_fault_is_one_clear_message(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        local(**data)
    head, *lines = str(caught.value).splitlines()
    assert head.endswith("1 fault(s) in the configuration")
    assert re.search(message, lines[0]), lines[0]


def test_the_fragment_of_the_documentation_is_a_configuration() -> None:
    text = (PROJECT / "docs" / "data.md").read_text(encoding="utf-8")
    fragment = yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])["data"]
    config = configuration(**{**fragment, "pools": {**fragment["pools"], **POOLS}})
    assert set(plans.datasets(config, "hub")) == set(fragment["hub"])
    assert [config.data.pools[name].size for name in fragment["pools"]] == [250, 1200]

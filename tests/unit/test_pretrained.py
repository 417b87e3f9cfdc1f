"""Models that are not trained here: configuration, plans, folders, links, downloads."""

from __future__ import annotations

import copy
import json
import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.unit.test_data_downloads import COMMIT, Hub, digest, serving

from thinkprior import plans
from thinkprior.checksums import file_digest
from thinkprior.configuration import Configuration, load, parse
from thinkprior.downloads import Lock, Repository, fetch, is_there
from thinkprior.errors import InputError
from thinkprior.families import FAMILIES, LEAST_HEAD, check_family
from thinkprior.model_folders import check_folder, check_models
from thinkprior.model_links import link
from thinkprior.stages import preflight, pretrained

SMALL = load(Path(__file__).parent / "small.yaml")
SHA = "b" * 64
HUB = {"label": "Hub", "repository": "owner/name", "revision": COMMIT}
FOLDER = {"label": "Folder", "path": "/models/folder"}
PACKAGE = {"label": "Package", "package": "some-model==0.1.2", "file": "*.gguf", "sha256": SHA}
SAME = {"label": "Same", "same_as": "base", "template": "Q: {problem}\nA:", "stop": ["\n"]}


def values(entries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The small configuration with pretrained models; keys with `__` for the dots are set."""
    found = copy.deepcopy(SMALL)
    found["pretrained"] = entries
    for key, value in changes.items():
        section: Any = found
        *path, last = key.split("__")
        for part in path:
            section = section[part]
        section[last] = value
    return found


def configuration(entries: dict[str, Any], **changes: Any) -> Configuration:
    return parse(values(entries, **changes), "small.yaml")


# --- Configuration --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "kind"),
    [(HUB, "repository"), (FOLDER, "path"), (PACKAGE, "package")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_kind_is_accepted_wherever_a_model_is_named(entry: dict[str, Any], kind: str) -> None:
    config = configuration(
        {"base": entry, "other": SAME, "bank": HUB | {"repository": "owner/bank"}},
        campaigns__main__policy="base",
        campaigns__main__anchor="other@0",
        probing__thinking_model="other",
        probing__respondents={"respondent": [50, 100], "bank": [0]},
    )
    assert config.pretrained["base"].kind == kind
    assert config.pretrained["other"].kind == "same_as"
    assert [config.label_of(name) for name in ("base", "other@0", "policy@50")] == [
        entry["label"],
        "Same",
        "a model",
    ]


def test_models_and_corpora_may_be_left_out() -> None:
    without = values(
        {"base": FOLDER, "bank": HUB, "third": HUB | {"repository": "owner/third"}},
        campaigns__main__policy="base",
        campaigns__main__anchor="base",
        probing__thinking_model="base",
        probing__respondents={"bank": [0], "third": [0]},
    )
    del without["models"], without["corpora"]
    config = parse(without, "small.yaml")
    assert (config.models, config.corpora) == ({}, {})
    assert plans.respondents(config) == ["bank@0", "third@0"]


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"base": {"label": "x"}}, {}, "pretrained.base.repository: give one of .*; found none"),
    ({"base": HUB | FOLDER}, {}, "repository: give one of .*; found repository and path"),
    ({"base": FOLDER | {"revision": COMMIT}}, {}, "revision: goes with repository only.* has path"),
    ({"base": HUB | {"file": "*.gguf"}}, {}, "file: goes with package only.* has repository"),
    ({"base": FOLDER | {"sha256": SHA}}, {}, "sha256: goes with package only"),
    ({"base": HUB | {"revision": "main"}}, {}, "pretrained.base.revision: String should match"),
    ({"base": HUB | {"repository": "name"}}, {}, "repository: 'name' is no owner/name"),
    ({"base": PACKAGE | {"package": "some-model"}}, {}, "pretrained.base.package: String should"),
    ({"base": PACKAGE | {"file": ""}}, {}, 'file: missing; which file of the package.*"\\*.gguf"'),
    ({"base": PACKAGE | {"sha256": ""}}, {}, "sha256: missing; the checksum"),
    ({"base": FOLDER | {"template": "Q:"}}, {}, r"template: \{problem\} is missing"),
    ({"base": FOLDER | {"stop": [""]}}, {}, "pretrained.base.stop.0: String should have at least"),
    ({"base": FOLDER | {"labl": "x"}}, {}, "pretrained.base.labl: unknown key; .* 'label'"),
    ({"policy": FOLDER}, {}, "pretrained.policy: 'policy' is in models too; name it otherwise"),
    ({"base": FOLDER, "same": SAME | {"same_as": "bse"}}, {}, "same.same_as: 'bse' .* 'base'"),
    ({"same": SAME | {"same_as": "same"}}, {}, "same_as: same has no weights of its own"),
    (
        {"base": FOLDER, "same": SAME, "third": SAME | {"same_as": "same"}},
        {},
        "third.same_as: same has no weights of its own; name base",
    ),
    # References: the nearest of both kinds of models is named.
    ({"qwen": FOLDER}, {"campaigns__main__policy": "qwenn"}, "main.policy: 'qwenn' .* 'qwen'"),
    ({"qwen": FOLDER}, {"campaigns__main__anchor": "anchr"}, "main.anchor: 'anchr' .* 'anchor'"),
    ({"qwen": FOLDER}, {"campaigns__main__anchor": "qwen@5"}, "qwen is not .* '5', only 0"),
    (
        {"qwen": FOLDER},
        {"probing__respondents": {"qwen": [100]}},
        "probing.respondents: qwen is not trained here and has no checkpoint '100', only 0",
    ),
    (
        {},
        {"probing__respondents": {"respondent": [0]}},
        r"probing.respondents: respondent keeps no checkpoint '0', only \[50, 100\]",
    ),
    # The policy among the respondents, under whatever name.
    (
        {"base": FOLDER},
        {"campaigns__main__policy": "base", "probing__respondents": {"base": [0]}},
        "main.policy: base is also in probing.respondents; its",
    ),
    (
        {"base": FOLDER, "same": SAME},
        {"campaigns__main__policy": "base", "probing__respondents": {"same": [0]}},
        "main.policy: base is also in probing.respondents as same, of the same weights",
    ),
    (
        {"base": FOLDER, "same": SAME},
        {"campaigns__main__policy": "same", "probing__respondents": {"base": [0]}},
        "main.policy: same is also in probing.respondents as base, of the same weights",
    ),
    (
        {"base": HUB, "again": HUB | {"revision": "c" * 40}},
        {"campaigns__main__policy": "base", "probing__respondents": {"again": [0]}},
        "as again, of the same weights",
    ),
    (
        {"base": FOLDER, "again": FOLDER | {"path": "/models/x/../folder"}},
        {"campaigns__main__policy": "base", "probing__respondents": {"again": [0]}},
        "as again, of the same weights",
    ),
    (
        {},
        {"engine__name": "vllm", "engine__vllm": {"max_model_len": 128}},
        "models.policy.heads: each has 8 dimensions; vLLM without a GPU needs 64",
    ),
]


@pytest.mark.parametrize(("entries", "changes", "message"), REFUSED, ids=lambda value: "")
def test_a_refusal_names_the_key_and_the_way_out(
    entries: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match="1 fault") as caught:
        configuration(entries, **changes)
    assert re.search(message, str(caught.value)), str(caught.value)


# --- Plans ----------------------------------------------------------------------------------------


def test_a_pretrained_model_has_step_0_only() -> None:
    config = configuration({"base": FOLDER})
    assert [plans.model_step_of(config, name) for name in ("base", "base@0", "policy")] == [
        *(0, 0),
        100,
    ]


def test_its_own_prompt_goes_into_all_passes_but_the_reference() -> None:
    config = configuration({"base": FOLDER, "other": SAME}, prompting__stop=["\n\n"])
    for kind in ("anchor", "thinking", "respondent"):
        plain = plans.probe_settings(config, kind, "policy")
        assert plans.probe_settings(config, kind, "base@0") == plain
        assert (plain["template"], plain["stop"]) == ("{problem}\n", ["\n\n"])
        own = plans.probe_settings(config, kind, "other@0")
        assert own == {**plain, "template": "Q: {problem}\nA:", "stop": ["\n"]}
    reference = plans.probe_settings(config, "reference", "other@0")
    assert (reference["template"], reference["stop"]) == ("{problem}\n", ["\n\n"])


def test_no_stop_text_of_its_own_differs_from_none_given() -> None:
    config = configuration({"base": FOLDER, "other": SAME | {"stop": []}}, prompting__stop=["\n"])
    assert plans.probe_settings(config, "anchor", "base")["stop"] == ["\n"]
    assert "stop" not in plans.probe_settings(config, "anchor", "other")


def test_how_it_is_asked_does_not_make_it_stale() -> None:
    for entry in (HUB, FOLDER, PACKAGE, SAME):
        before = configuration({"base": FOLDER, "it": entry})
        after = configuration(
            {"base": FOLDER, "it": entry | {"label": "y", "template": "{problem}!", "stop": ["x"]}}
        )
        assert plans.pretrained_settings(before, "it") == plans.pretrained_settings(after, "it")
    assert plans.pretrained_settings(configuration({"it": HUB}), "it") == {
        "repository": "owner/name",
        "revision": COMMIT,
        "folder": "data",
        "lock": "config/data.lock.json",
    }
    assert plans.pretrained(configuration({"a": HUB, "b": FOLDER, "c": HUB}), "repository") == [
        *("a", "c")
    ]


# --- Folders --------------------------------------------------------------------------------------


def test_a_whole_folder_is_accepted(model_directory: Path) -> None:
    check_folder("pretrained.base.path", model_directory, "transformers", "cpu")


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def only_pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def with_config(**changes: object) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **changes}))

    return change


def in_parts(folder: Path) -> None:
    parts = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors").rename(folder / parts["a"])
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": parts}))


@pytest.mark.parametrize(
    ("spoil", "engine", "message"),
    [
        (shutil.rmtree, "vllm", "is no folder. Mend the path"),
        (without("config.json"), "vllm", "lacks config.json. A model folder holds"),
        (without("tokenizer.json"), "vllm", "lacks tokenizer.json"),
        (without("model.safetensors"), "vllm", r"has no weights \(\*.safetensors\). Load"),
        (only_pickled, "vllm", "has no weights .*; pytorch_model.bin cannot be used"),
        (in_parts, "transformers", "lacks 1 of the 2 files .* such as model-00002-of-00002"),
        (lambda f: (f / "config.json").write_text("{"), "vllm", "config.json: not readable as"),
        (lambda f: (f / "config.json").write_text("[]"), "vllm", "config.json: holds no JSON obj"),
        (
            with_config(architectures=["BertForMaskedLM"], model_type="bert"),
            "vllm",
            "its architecture is BertForMaskedLM, no causal",
        ),
        (
            with_config(architectures=["Qwen3ForCausalLM"], model_type="qwen3"),
            "transformers",
            "of type qwen3; the transformers engine samples from qwen2 and llama. .*vllm",
        ),
        (with_config(use_sliding_window=True), "transformers", "it has a sliding window"),
        (with_config(), "vllm", "its head dimension is 4; vLLM without a GPU needs 64"),
    ],
)
def test_a_folder_that_cannot_be_used(
    model_directory: Path, spoil: Callable[[Path], object], engine: str, message: str
) -> None:
    spoil(model_directory)
    with pytest.raises(InputError) as caught:
        check_folder("pretrained.base.path", model_directory, engine, "cpu")
    assert re.search(message, str(caught.value)), str(caught.value)
    assert str(model_directory) in str(caught.value)


def test_families_that_an_engine_runs() -> None:
    for family in FAMILIES:
        qwen = {"model_type": family, "architectures": ["XForCausalLM"], "head_dim": 8}
        check_family("it", qwen, "transformers", "cpu")
    other = {"model_type": "gemma", "architectures": ["GemmaForCausalLM"]}
    sizes = {"hidden_size": 8 * LEAST_HEAD, "num_attention_heads": 8}
    check_family("it", other | sizes, "vllm", "cpu")
    with pytest.raises(InputError, match="head dimension is 32"):
        check_family("it", other | sizes | {"num_attention_heads": 16}, "vllm", "cpu")
    check_family("it", other | sizes | {"num_attention_heads": 16}, "vllm", "cuda")


def test_the_folder_of_the_configuration_is_checked_before_any_work(
    model_directory: Path, tmp_path: Path
) -> None:
    good = {"base": FOLDER | {"path": str(model_directory)}}
    check_models(configuration(good))
    with pytest.raises(InputError, match=r"^pretrained.base.path: .*nowhere is no folder"):
        check_models(configuration({"base": FOLDER | {"path": str(tmp_path / "nowhere")}}))


# --- Links ----------------------------------------------------------------------------------------


def test_a_link_is_followed_and_the_model_is_not_copied(
    model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for source in (model_directory, Path("model")):
        link(source, "results/x/models/base")
        step = tmp_path / "results/x/models/base/step-00000"
        assert step.resolve() == model_directory
        # Made anew over what was there.
    assert not step.readlink().is_absolute()
    before = file_digest("results/x/models/base")
    weights = model_directory / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    assert file_digest("results/x/models/base") != before
    shutil.rmtree("results")
    assert weights.exists()


def test_a_linked_model_is_not_to_be_deleted(model_directory: Path, tmp_path: Path) -> None:
    from thinkprior.models import load_model, load_tokenizer

    link(model_directory, tmp_path / "results")
    step = tmp_path / "results/step-00000"
    (model_directory / "tokenizer.json").write_text("{")
    (model_directory / "model.safetensors").write_bytes(b"torn")
    for loaded in (load_model, load_tokenizer):
        with pytest.raises(InputError, match=f"a link to {model_directory}: mend the model there"):
            loaded(step)


# --- Downloads ------------------------------------------------------------------------------------


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, model_directory: Path) -> Iterator[Hub]:
    """A hub with a tiny model, which the stages are made to ask."""
    with serving(monkeypatch) as server:
        server.content = {item.name: item.read_bytes() for item in model_directory.iterdir()}
        server.content |= {
            "README.md": b"hello",
            "merges.txt": b"a b",
            "pytorch_model.bin": b"pickle",
            "original/consolidated.00.pth": b"pickle",
            "onnx/config.json": b"{}",
            "onnx/model.safetensors": b"",
        }
        asking = partial(fetch, endpoint=server.endpoint, waits=(0,))
        monkeypatch.setattr(pretrained, "fetch", asking)
        monkeypatch.setattr(preflight, "fetch", asking)
        yield server


def of_the_hub(folder: Path, **changes: str) -> dict[str, str]:
    places = {"folder": str(folder / "data"), "lock": str(folder / "data.lock.json")}
    return {"repository": "owner/tiny", "revision": "", **places, **changes}


TAKEN = ["config.json", "generation_config.json", "merges.txt", "model.safetensors"]
TAKEN += ["tokenizer.json", "tokenizer_config.json"]


def test_a_model_is_downloaded_linked_and_runs(hub: Hub, tmp_path: Path) -> None:
    from thinkprior.models import load_model, load_tokenizer

    settings = of_the_hub(tmp_path)
    pretrained.download_model(settings, tmp_path / "models/tiny", tmp_path / "log")
    step = tmp_path / "models/tiny/step-00000"
    assert step.resolve() == tmp_path / "data/models/owner--tiny" / COMMIT
    # Safetensors and JSON of the top folder; nothing pickled, nothing of other formats.
    assert sorted(item.name for item in step.iterdir()) == TAKEN
    lock = json.loads((tmp_path / "data.lock.json").read_text())["owner/tiny"]
    assert (lock["kind"], lock["commit"]) == ("model", COMMIT)
    assert lock["sha256"] == {name: digest(hub.content[name]) for name in TAKEN}
    check_folder("it", step, "transformers", "cpu")
    assert load_model(step).config.model_type == "qwen2"
    assert load_tokenizer(step).eos_token_id == 1
    # What is there needs no network.
    hub.asked.clear()
    preflight.ask([settings], [], {}, tmp_path / "log")
    pretrained.download_model(settings, tmp_path / "models/again", tmp_path / "log")
    assert hub.asked == []


def test_a_damaged_file_is_fetched_anew(hub: Hub, tmp_path: Path) -> None:
    settings = of_the_hub(tmp_path)
    pretrained.download_model(settings, tmp_path / "models/tiny", tmp_path / "log")
    weights = tmp_path / "models/tiny/step-00000/model.safetensors"
    weights.write_bytes(b"torn")
    hub.asked.clear()
    pretrained.download_model(settings, tmp_path / "models/tiny", tmp_path / "log")
    assert weights.read_bytes() == hub.content["model.safetensors"]
    assert hub.downloads() == [("model.safetensors", "")]


def test_a_model_without_safetensors(hub: Hub, tmp_path: Path) -> None:
    del hub.content["model.safetensors"]
    with pytest.raises(InputError, match=r"no file \*.safetensors.*Models are read from safetens"):
        pretrained.download_model(of_the_hub(tmp_path), tmp_path / "models/tiny", tmp_path / "log")


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (
            401,
            "RepoNotFound",
            r"owner/tiny: no such repository, or a private one: \S*co/owner/tiny",
        ),
        (403, "GatedRepo", r"owner/tiny: .*gated\. Accept its terms at \S*co/owner/tiny.*HF_TOKEN"),
    ],
)
def test_what_would_stop_a_download_does_so_beforehand(
    hub: Hub, tmp_path: Path, status: int, code: str, message: str
) -> None:
    hub.status, hub.error_code = [status] * 20, code
    with pytest.raises(InputError, match=message):
        preflight.ask([of_the_hub(tmp_path)], [], {}, tmp_path / "log")


def test_before_the_download_only_the_configuration_is_fetched(hub: Hub, tmp_path: Path) -> None:
    settings = of_the_hub(tmp_path)
    preflight.ask([settings], [], {}, tmp_path / "log")
    assert hub.downloads() == [("config.json", "")]
    lock = Lock(settings["lock"])
    asked = pretrained.repository_of(settings)
    assert not is_there(asked, tmp_path / "data/models", lock)
    # Of the model in the configuration it is now known what it is.
    entry = {"label": "Tiny", "repository": "owner/tiny"}
    places = {"data__folder": settings["folder"], "data__lock": settings["lock"]}
    check_models(configuration({"base": entry}, **places))
    config = tmp_path / "data/models/owner--tiny" / COMMIT / "config.json"
    config.write_text(config.read_text().replace('"qwen2"', '"qwen3"'))
    with pytest.raises(InputError, match=r"base.repository: owner/tiny: a model of type qwen3"):
        check_models(configuration({"base": entry}, **places))


def test_no_network_says_what_to_do_with_a_model(hub: Hub, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    asked = Repository("owner/tiny", ("config.json",), kind="model")
    with pytest.raises(InputError, match=r"cannot be reached\. Run `snakemake prefetch`.*`path`"):
        fetch(asked, tmp_path, Lock(tmp_path / "lock"), print, endpoint=nobody, waits=())


def test_two_jobs_write_one_lock(tmp_path: Path) -> None:
    """Each has read the lock before the other writes; nothing is lost."""
    path = tmp_path / "data.lock.json"
    locks = [Lock(path) for _ in range(8)]

    def record(place: int) -> None:
        repository = Repository(f"owner/{place}", ("*",), kind="model")
        for number in range(5):
            locks[place].record(repository, COMMIT, {str(number): SHA}, ["*"])

    jobs = [threading.Thread(target=record, args=(place,)) for place in range(len(locks))]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    entries = json.loads(path.read_text())
    assert {name: len(entry["sha256"]) for name, entry in entries.items()} == {
        f"owner/{place}": 5 for place in range(len(locks))
    }

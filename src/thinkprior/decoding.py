"""Decoding a batch of sequences with a Qwen2 or Llama model's own layers.

The library's forward pass spends most of a small model's time around its layers: masks and caches
made anew, arguments checked, outputs packed. Here the layers' projections and norms are called
directly, with the library's arithmetic; keys and values are written into memory that is laid out
beforehand; and of the last layer only what the next token needs is computed for a prompt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from thinkprior.errors import InputError
from thinkprior.families import FAMILIES

PROMPTS_AT_ONCE = 128
"""Prompts that the model reads at once: more fall out of a processor's caches."""

ROOM = 256
"""Places for new tokens that are laid out at a time."""


def check_decodable(decoder: Any) -> None:
    """Refuse a model whose layers work otherwise than `Decoding` calls them.

    Args:
        decoder: the stack of layers below a language-model head.

    Raises:
        InputError: for another family, or a layer that sees a sliding window.
    """
    config = decoder.config
    if config.model_type not in FAMILIES:
        raise InputError(
            f"the transformers engine samples from {' and '.join(FAMILIES)} models, not from "
            f"{config.model_type}: choose another model."
        )
    if set(getattr(config, "layer_types", None) or ()) - {"full_attention"}:
        raise InputError(
            "the transformers engine samples from models without sliding windows only: choose "
            "another model."
        )


FEWEST_SHARED = 16
"""Tokens that all prompts of a call must begin with to have them computed once for all."""


class Stem:
    """What all prompts of a call begin with, such as the examples of a few-shot prompt, read once.

    Attributes:
        length: its tokens; each prompt has at least one more.
        caches: keys and values of each layer, [1, heads, length, head size].
    """

    def __init__(self, decoder: Any, tokens: Sequence[int], device: torch.device) -> None:
        """Read it.

        Args:
            decoder: the stack of layers, see `check_decodable`.
            tokens: its token ids.
            device: where the model is.
        """
        self.length = len(tokens)
        alone = Decoding(decoder, [tokens], 0, device)
        alone.start()
        self.caches = [(layer.keys, layer.values) for layer in alone.layers]


def shared_length(prompts: Sequence[Sequence[int]]) -> int:
    """Tokens that all prompts begin with and that are worth sharing; the last is not among them."""
    if len(prompts) < 2:
        return 0
    # What the first and the last in order share, all between them share.
    first, last = min(map(tuple, prompts)), max(map(tuple, prompts))
    most = min(map(len, prompts)) - 1
    length = next((i for i in range(most) if first[i] != last[i]), most)
    return length if length >= FEWEST_SHARED else 0


class Decoding:
    """Sequences that are being decoded, one a row: `start` once, then `step` for each token."""

    def __init__(
        self,
        decoder: Any,
        prompts: Sequence[Sequence[int]],
        most: int,
        device: torch.device,
        stem: Stem | None = None,
    ) -> None:
        """Lay out prompts so that they end in the same place: stem, padding, the rest of a prompt.

        Args:
            decoder: the stack of layers below a language-model head, see `check_decodable`.
            prompts: token ids of each prompt.
            most: new tokens that a row gets at most.
            device: where the model is.
            stem: what all prompts begin with, already read; None to read all of each prompt.
        """
        self.decoder = decoder
        self.stem = 0 if stem is None else stem.length
        self.samples = 1
        self.apart = 0
        self.room = min(most, ROOM)
        self.filled = max(map(len, prompts))
        self.paddings = [self.filled - len(prompt) for prompt in prompts]
        ids = torch.zeros((len(prompts), self.filled), dtype=torch.long)
        for row, (padding, prompt) in enumerate(zip(self.paddings, prompts, strict=True)):
            ids[row, self.stem + padding :] = torch.tensor(prompt[self.stem :])
        self.ids = ids.to(device)
        self.first = torch.tensor(self.paddings, device=device)
        weight, config = decoder.embed_tokens.weight, decoder.config
        self.layers = [_Layer(layer) for layer in decoder.layers]
        size = (config.num_key_value_heads, 0, self.layers[0].head_size)
        for layer in self.layers:
            layer.keys = layer.values = weight.new_zeros((len(prompts), *size))
        self.bias = weight.new_zeros((len(prompts), 1, 1, 0))
        self.cosine = self.sine = weight.new_zeros((len(prompts), 1, 0, size[-1]))
        self._lay_out(self.filled + self.room)
        if stem is not None:
            for layer, (keys, values) in zip(self.layers, stem.caches, strict=True):
                layer.keys[:, :, : self.stem] = keys
                layer.values[:, :, : self.stem] = values

    def start(self) -> torch.Tensor:
        """Hidden state from which each prompt's first token is drawn, [rows, hidden]."""
        rows = range(0, len(self.ids), PROMPTS_AT_ONCE)
        return torch.cat([self._read(slice(row, row + PROMPTS_AT_ONCE)) for row in rows])

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """Hidden state after one more token a row: [rows] to [rows, hidden]."""
        place, end = self.filled, self.filled + 1
        if end > self.bias.shape[-1]:
            self._lay_out(self.room)
        self.filled = end
        bias = self.bias[..., :end]
        rotation = self.cosine[:, :, place:end], self.sine[:, :, place:end]
        hidden = self.decoder.embed_tokens(tokens[:, None])
        for layer in self.layers:
            normed = layer.input_norm(hidden)
            key, value = layer.project(normed, *rotation)
            own = slice(place - self.apart, end - self.apart)
            layer.keys[:, :, own], layer.values[:, :, own] = key, value
            keys, values = layer.keys[:, :, : own.stop], layer.values[:, :, : own.stop]
            if self.apart:
                seen = layer.attend_apart(
                    normed, *rotation, keys, values, self.prompt_bias, self.samples
                )
            else:
                seen = layer.attend(normed, *rotation, keys, values, bias)
            hidden = layer.finish(hidden, seen)
        last: torch.Tensor = self.decoder.norm(hidden)[:, 0]
        return last

    def repeat(self, samples: int) -> None:
        """Make `samples` rows of each, one after the other.

        Where the attention's own arithmetic can be taken apart, the rows of a prompt go on sharing
        its keys and values until rows are taken out: most of what a step reads from memory.
        """
        if samples > 1 and self.layers[0].queries_a_key > 1 and _on_cpu_in_fp32(self.bias):
            self.samples, self.apart = samples, self.filled
            self.prompt_bias = self.bias[..., : self.apart]
            for layer in self.layers:
                layer.split(self.apart, samples)
        else:
            for layer in self.layers:
                layer.change_rows(lambda tensor: tensor.repeat_interleave(samples, 0))
        self._change_rows(lambda tensor: tensor.repeat_interleave(samples, 0))

    def keep(self, rows: torch.Tensor) -> None:
        """Go on with these rows only, given by their numbers."""
        if self.apart:
            for layer in self.layers:
                layer.join(self.samples, rows)
            self.apart = 0
        else:
            for layer in self.layers:
                layer.change_rows(lambda tensor: tensor[rows])
        self._change_rows(lambda tensor: tensor[rows])

    def _change_rows(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.first, self.bias = change(self.first), change(self.bias)
        self.cosine, self.sine = change(self.cosine), change(self.sine)

    def _lay_out(self, more: int) -> None:
        """Make room for more tokens a row."""
        start = self.bias.shape[-1]
        places = torch.arange(start, start + more, device=self.first.device)
        first = self.first[:, None]
        # Of a position below what its place is; no token sees padding.
        positions = torch.where(places < self.stem, places, (places - first).clamp(min=0))
        cosine, sine = self.decoder.rotary_emb(self.bias, positions)
        # The library negates half of a head and swaps the halves; here the sign is in the sine.
        sine[..., : sine.shape[-1] // 2].neg_()
        self.cosine = torch.cat([self.cosine, cosine[:, None]], 2)
        self.sine = torch.cat([self.sine, sine[:, None]], 2)
        padding = (places >= self.stem) & (places < self.stem + first)
        bias = self.bias.new_zeros((len(first), more)).masked_fill_(padding, -math.inf)
        self.bias = torch.cat([self.bias, bias[:, None, None]], 3)
        for layer in self.layers:
            # Zeros, since whatever stood in unseen places would still be multiplied by 0.
            shape = (*layer.keys.shape[:2], more, layer.keys.shape[3])
            layer.keys = torch.cat([layer.keys, layer.keys.new_zeros(shape)], 2)
            layer.values = torch.cat([layer.values, layer.values.new_zeros(shape)], 2)

    def _read(self, rows: slice) -> torch.Tensor:
        """Read some of the prompts: their keys and values, and the last token's hidden state."""
        start, end = self.stem + min(self.paddings[rows]), self.filled
        places = slice(start, end)
        bias = self.bias[rows, :, :, places]
        unseen = torch.ones((end - start,) * 2, dtype=torch.bool, device=bias.device).triu(1)
        bias = bias.masked_fill(unseen, -math.inf)
        # A padded query may see itself: a row without a key would give NaN.
        bias.diagonal(dim1=2, dim2=3).zero_()
        if self.stem:
            seen = bias.new_zeros((*bias.shape[:3], self.stem))
            bias = torch.cat([seen, bias], 3)
        rotation = self.cosine[rows, :, places], self.sine[rows, :, places]
        hidden = self.decoder.embed_tokens(self.ids[rows, places])
        for layer in self.layers:
            normed = layer.input_norm(hidden)
            keys, values = layer.project(normed, *rotation)
            layer.keys[rows, :, places], layer.values[rows, :, places] = keys, values
            if self.stem:
                keys = torch.cat([layer.keys[rows, :, : self.stem], keys], 2)
                values = torch.cat([layer.values[rows, :, : self.stem], values], 2)
            if layer is self.layers[-1]:
                hidden, normed, bias = hidden[:, -1:], normed[:, -1:], bias[:, :, -1:]
                rotation = rotation[0][:, :, -1:], rotation[1][:, :, -1:]
            hidden = layer.finish(hidden, layer.attend(normed, *rotation, keys, values, bias))
        last: torch.Tensor = self.decoder.norm(hidden)[:, 0]
        return last


def _on_cpu_in_fp32(tensor: torch.Tensor) -> bool:
    return tensor.device.type == "cpu" and tensor.dtype == torch.float32


class _Layer:
    """One layer's parts, and the keys and values of the batch: [rows, heads, places, head size].

    Those of the prompts can stand apart, once for all rows of a prompt.
    """

    keys: torch.Tensor
    values: torch.Tensor
    prompt_keys: torch.Tensor
    prompt_values: torch.Tensor

    def __init__(self, layer: Any) -> None:
        attention = layer.self_attn
        self.input_norm = layer.input_layernorm
        self.query, self.key, self.value = attention.q_proj, attention.k_proj, attention.v_proj
        self.output, self.output_norm = attention.o_proj, layer.post_attention_layernorm
        self.mlp = layer.mlp
        self.head_size: int = attention.head_dim
        self.scaling: float = attention.scaling
        self.queries_a_key: int = attention.num_key_value_groups

    def project(
        self, normed: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of tokens."""
        key = self._rotated(self._heads(self.key(normed)), cosine, sine)
        return key, self._heads(self.value(normed))

    def attend(
        self,
        normed: torch.Tensor,
        cosine: torch.Tensor,
        sine: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        bias: torch.Tensor,
    ) -> torch.Tensor:
        """What tokens take from those that they see."""
        query = self._rotated(self._heads(self.query(normed)), cosine, sine)
        rows, heads, tokens, size = query.shape
        if self.queries_a_key > 1:
            # Heads that share keys stand as further queries of one head, so no key is copied.
            query = query.reshape(rows, -1, self.queries_a_key * tokens, size)
            if tokens > 1:
                bias = bias.repeat(1, 1, self.queries_a_key, 1)
        seen = torch.nn.functional.scaled_dot_product_attention(
            query, keys, values, attn_mask=bias, scale=self.scaling
        )
        return seen.reshape(rows, heads, tokens, size)

    def attend_apart(
        self,
        normed: torch.Tensor,
        cosine: torch.Tensor,
        sine: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        prompt_bias: torch.Tensor,
        samples: int,
    ) -> torch.Tensor:
        """What one new token a row takes from its prompt's keys, which stand apart, and its own."""
        query = self._rotated(self._heads(self.query(normed)), cosine, sine) * self.scaling
        rows, heads, _, size = query.shape
        prompts, shared, places, _ = self.prompt_keys.shape

        def together(tensor: torch.Tensor) -> torch.Tensor:
            """[rows, shared heads, queries a key, n] to [prompts, shared heads, all queries, n]."""
            of_prompt = tensor.view(prompts, samples, shared, self.queries_a_key, -1)
            return of_prompt.transpose(1, 2).reshape(prompts, shared, -1, tensor.shape[-1])

        def a_row(tensor: torch.Tensor) -> torch.Tensor:
            of_prompt = tensor.view(prompts, shared, samples, self.queries_a_key, -1)
            return of_prompt.transpose(1, 2).reshape(rows, shared, self.queries_a_key, -1)

        query = query.reshape(rows, shared, self.queries_a_key, size)
        to_prompt = together(query) @ self.prompt_keys.transpose(2, 3) + prompt_bias
        scores = torch.cat([a_row(to_prompt), query @ keys.transpose(2, 3)], -1)
        weights = scores.softmax(-1)
        seen = a_row(together(weights[..., :places]) @ self.prompt_values)
        seen = seen + weights[..., places:] @ values
        return seen.reshape(rows, heads, 1, size)

    def split(self, places: int, samples: int) -> None:
        """Put the first places apart, and go on with `samples` rows of each for what is new."""
        self.prompt_keys = self.keys[:, :, :places].contiguous()
        self.prompt_values = self.values[:, :, :places].contiguous()
        self.keys = self.keys[:, :, places:].repeat_interleave(samples, 0)
        self.values = self.values[:, :, places:].repeat_interleave(samples, 0)

    def join(self, samples: int, rows: torch.Tensor) -> None:
        """Undo `split` for these rows."""
        prompts = rows // samples
        self.keys = torch.cat([self.prompt_keys[prompts], self.keys[rows]], 2)
        self.values = torch.cat([self.prompt_values[prompts], self.values[rows]], 2)
        del self.prompt_keys, self.prompt_values

    def change_rows(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        """Make other rows of the batch's keys and values."""
        self.keys, self.values = change(self.keys), change(self.values)

    def finish(self, hidden: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """The layer's output."""
        hidden = hidden + self.output(seen.transpose(1, 2).flatten(2))
        output: torch.Tensor = hidden + self.mlp(self.output_norm(hidden))
        return output

    def _heads(self, projected: torch.Tensor) -> torch.Tensor:
        return projected.view(*projected.shape[:2], -1, self.head_size).transpose(1, 2)

    def _rotated(
        self, heads: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor
    ) -> torch.Tensor:
        return heads * cosine + heads.roll(self.head_size // 2, -1) * sine

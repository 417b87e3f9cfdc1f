"""A group as one row: the prompt once, then its completions, each seeing the prompt and itself.

Every rollout of a group has the same prompt, so a trainer that gives the model G padded rows
computes that prompt G times. Here the row of a group is [prompt, completion 1, ..., completion G]
with positions that start anew after the prompt and a mask that keeps the completions apart; the
token log-probabilities and their gradients are those of the separate rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray


@dataclass(frozen=True)
class Group:
    """One group that enters an update.

    Attributes:
        prompt_tokens: the prompt's token ids.
        completions: token ids of each completion, end token included.
        advantages: one advantage a completion, shape [rollouts].
    """

    prompt_tokens: NDArray[np.int64]
    completions: Sequence[NDArray[np.int64]]
    advantages: NDArray[np.float64]


@dataclass(frozen=True)
class PackedGroups:
    """Groups as model input; T is the longest row, N the number of completion tokens.

    Attributes:
        ids: token ids, right-padded, [groups, T].
        positions: position ids, [groups, T].
        mask: which key each query may see, [groups, 1, T, T].
        predictors: flat positions in [groups * T] that predict a completion token, [N].
        targets: those completion tokens, [N].
        sequence: index of each token's completion among all of the batch's, [N].
        lengths: tokens of each completion, [completions].
        advantages: advantage of each completion, [completions].
    """

    ids: torch.Tensor
    positions: torch.Tensor
    mask: torch.Tensor
    predictors: torch.Tensor
    targets: torch.Tensor
    sequence: torch.Tensor
    lengths: torch.Tensor
    advantages: torch.Tensor


def pack(groups: Sequence[Group], device: torch.device) -> PackedGroups:
    """Lay groups out as rows; see the module's docstring."""
    rows = [len(group.prompt_tokens) + sum(map(len, group.completions)) for group in groups]
    width = max(rows)
    ids = np.zeros((len(groups), width), dtype=np.int64)
    positions = np.zeros((len(groups), width), dtype=np.int64)
    # Segment 0 is the prompt, 1 .. G the completions; padding is a segment that nothing else sees.
    segments = np.full((len(groups), width), -1, dtype=np.int64)
    predictors: list[NDArray[np.int64]] = []
    sequence: list[NDArray[np.int64]] = []
    lengths: list[int] = []
    for row, group in enumerate(groups):
        prompt = len(group.prompt_tokens)
        ids[row, :prompt] = group.prompt_tokens
        positions[row, :prompt] = np.arange(prompt)
        segments[row, :prompt] = 0
        start = prompt
        for number, tokens in enumerate(group.completions, start=1):
            place = slice(start, start + len(tokens))
            ids[row, place] = tokens
            positions[row, place] = np.arange(prompt, prompt + len(tokens))
            segments[row, place] = number
            # The prompt's last token predicts the first one, each token the next.
            before = np.arange(start - 1, start + len(tokens) - 1)
            before[0] = prompt - 1
            predictors.append(row * width + before)
            sequence.append(np.full(len(tokens), len(lengths)))
            lengths.append(len(tokens))
            start += len(tokens)
    causal = np.tril(np.ones((width, width), dtype=bool))
    same = segments[:, :, None] == segments[:, None, :]
    prompt_keys = (segments == 0)[:, None, :] & (segments >= 0)[:, :, None]
    mask = causal[None] & (same | prompt_keys)
    targets = np.concatenate([tokens for group in groups for tokens in group.completions])
    advantages = np.concatenate([group.advantages for group in groups])
    return PackedGroups(
        ids=torch.from_numpy(ids).to(device),
        positions=torch.from_numpy(positions).to(device),
        mask=torch.from_numpy(mask[:, None]).to(device),
        predictors=torch.from_numpy(np.concatenate(predictors)).to(device),
        targets=torch.from_numpy(targets).to(device),
        sequence=torch.from_numpy(np.concatenate(sequence)).to(device),
        lengths=torch.tensor(lengths, device=device),
        advantages=torch.from_numpy(advantages).to(device=device, dtype=torch.float32),
    )

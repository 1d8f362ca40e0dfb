"""What does the network look like while it is trained?

The encoder is all-MiniLM-L6-v2: a BERT of six layers. On it sit, for each label, an ordinal head (one logit for "above
level k" each) over a pooling that learns which words of the reply matter, and, for the mechanisms of EPITOME, a logit
for each word that says whether people gave it as their reason. `shipping` writes the same network as ONNX.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

HEADS, WIDTH, LAYERS, INNER = 12, 384, 6, 1536
EPSILON = 1e-12


class Output(NamedTuple):
    """What the network says of a batch: one block of ordinal logits a label, and the words people gave as reasons."""

    logits: dict[str, Tensor]
    reasons: Tensor
    pooled: Tensor


class Layer(nn.Module):
    """One layer of BERT, with query, key and value in one matrix."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.up = nn.Linear(WIDTH, INNER)
        self.down = nn.Linear(INNER, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.dropout = dropout

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Attend, then transform; `mask` is true where a key may be looked at."""
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        drop = self.dropout if self.training else 0.0
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=drop)
        seen = self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        x = self.norm1(x + F.dropout(seen, self.dropout, self.training))
        return self.norm2(x + F.dropout(self.down(F.gelu(self.up(x))), self.dropout, self.training))


class Scorer(nn.Module):
    """The encoder and its heads.

    `labels` says how many levels each label has. The first `reasoned` of them have words that people gave as reasons.
    """

    def __init__(self, labels: Mapping[str, int], reasoned: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.words = nn.Embedding(30522, WIDTH)
        self.positions = nn.Embedding(512, WIDTH)
        self.sides = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(LAYERS))
        self.labels = dict(labels)
        self.reasoned = reasoned
        self.attend = nn.Linear(WIDTH, len(labels))
        self.reason = nn.Linear(WIDTH, max(reasoned, 1))
        self.heads = nn.ModuleDict({name: nn.Linear(2 * WIDTH, count - 1) for name, count in labels.items()})
        self.dropout = dropout
        for head in (self.attend, self.reason, *self.heads.values()):
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)

    def encode(self, ids: Tensor, sides: Tensor) -> Tensor:
        """The last layer's vector of every token; 0 in `ids` is padding."""
        mask = (ids != 0)[:, None, None, :]
        place = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.positions(place) + self.sides(sides))
        x = F.dropout(x, self.dropout, self.training)
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def forward(self, ids: Tensor, sides: Tensor) -> Output:
        """Read a batch: `sides` is 0 for the context and 1 for the reply."""
        x = self.encode(ids, sides)
        reasons = self.reason(x)
        # A word that looks like a reason weighs more, and what else matters each label learns for itself.
        scores = self.attend(x)
        if self.reasoned:
            scores = torch.cat([scores[..., : self.reasoned] + reasons, scores[..., self.reasoned :]], dim=-1)
        scores = scores.masked_fill((sides != 1)[..., None], -1e4)
        pooled = scores.softmax(dim=1).transpose(1, 2) @ x  # batch, label, width
        first = x[:, :1].expand_as(pooled)
        both = F.dropout(torch.cat([first, pooled], dim=-1), self.dropout, self.training)
        logits = {name: head(both[:, at]) for at, (name, head) in enumerate(self.heads.items())}
        return Output(logits, reasons, pooled)


def load_base(scorer: Scorer, weights: Path) -> None:
    """Fill the encoder with the published weights."""
    base = {name: value.float() for name, value in load_file(weights).items()}
    own = {
        "words.weight": base["embeddings.word_embeddings.weight"],
        "positions.weight": base["embeddings.position_embeddings.weight"],
        "sides.weight": base["embeddings.token_type_embeddings.weight"],
        "norm.weight": base["embeddings.LayerNorm.weight"],
        "norm.bias": base["embeddings.LayerNorm.bias"],
    }
    for at in range(LAYERS):
        layer = f"encoder.layer.{at}"
        for kind in ("weight", "bias"):
            parts = [base[f"{layer}.attention.self.{name}.{kind}"] for name in ("query", "key", "value")]
            own[f"layers.{at}.qkv.{kind}"] = torch.cat(parts)
            for name, theirs in {
                "out": "attention.output.dense",
                "norm1": "attention.output.LayerNorm",
                "up": "intermediate.dense",
                "down": "output.dense",
                "norm2": "output.LayerNorm",
            }.items():
                own[f"layers.{at}.{name}.{kind}"] = base[f"{layer}.{theirs}.{kind}"]
    missing, unexpected = scorer.load_state_dict(own, strict=False)
    trained = ("attend.", "reason.", "heads.")
    if unexpected or any(not name.startswith(trained) for name in missing):
        raise ValueError(f"{weights} is not all-MiniLM-L6-v2: missing {missing}, not known {unexpected}")

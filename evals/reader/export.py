"""Turn a trained reader into the file that is shipped: ``python -m evals.reader.export STAGE BASE OUT``.

ONNX with weights and embeddings in eight bits. `OUT` gets `reader.onnx` and `tokenizer.json`; their SHA-256 is printed.
"""

import argparse
import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process

from evals.reader.model import Reader, from_base

OPSET = 17


def write(reader: Reader, target: Path) -> None:
    """Write a reader as ONNX, its weights in eight bits."""
    reader.eval()
    inputs = (torch.ones(2, 16, dtype=torch.long),) * 3
    names = ["input_ids", "attention_mask", "token_type_ids"]
    free = {0: "pairs", 1: "tokens"}
    with tempfile.TemporaryDirectory() as folder:
        plain, shaped = Path(folder, "plain.onnx"), Path(folder, "shaped.onnx")
        torch.onnx.export(
            reader, inputs, str(plain), input_names=names, output_names=["start", "end", "answers", "supports"],
            dynamic_axes={**dict.fromkeys(names, free), "start": free, "end": free,
                          "answers": {0: "pairs"}, "supports": {0: "pairs"}},
            opset_version=OPSET, dynamo=False,
        )  # fmt: skip
        quant_pre_process(str(plain), str(shaped), skip_symbolic_shape=True)
        quantize_dynamic(
            str(shaped), str(target), per_channel=True, reduce_range=True, weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul", "Gather"],
        )  # fmt: skip
    onnx.checker.check_model(str(target))


def main() -> None:
    """Export."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", type=Path)
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    reader = from_base(options.base)
    reader.encoder.config._attn_implementation = "eager"
    reader.load_state_dict(torch.load(options.stage, weights_only=True)["reader"])
    options.out.mkdir(parents=True, exist_ok=True)
    write(reader, options.out / "reader.onnx")
    shutil.copy(options.base / "tokenizer.json", options.out / "tokenizer.json")
    for name in ("reader.onnx", "tokenizer.json"):
        data = (options.out / name).read_bytes()
        print(json.dumps({"file": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}))


if __name__ == "__main__":
    main()

"""The local reader: a small cross-encoder in eight bits, run by onnxruntime."""

"""Truth measured on sets that people labelled: support, numbers, retrieval; nothing here needs a model."""

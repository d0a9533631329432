"""The weights of the alignment score, written by ``python -m evals.truth.train_support --write``."""

VERSION = "1"
EMIT = 0.74
BIAS = 0.116443
WEIGHTS: tuple[tuple[str, float, float, float], ...] = (
    ("recall_weighted", 0.571579, 0.273614, 0.095144),
    ("recall_soft", 0.574118, 0.265807, 0.124420),
    ("window", 0.478827, 0.248455, 0.358011),
    ("length", 2.431498, 0.560883, 0.234692),
    ("evidence_length", 4.157372, 1.399323, -0.215058),
    ("names_missing", 0.254328, 0.376882, 0.213176),
    ("names_any", 0.374230, 0.483923, -0.406604),
    ("figures_unmet", 0.180160, 0.361411, -0.066013),
    ("figures_any", 0.221232, 0.415077, -0.287721),
    ("denies_alone", 0.089475, 0.285428, -0.143456),
    ("answers", 0.100000, 0.300000, -0.103568),
)
"""Name of the feature, its mean and standard deviation in the labelled sets, and its weight."""

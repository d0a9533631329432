"""The weights of the alignment score, written by ``python -m evals.truth.train_support --write``."""

VERSION = "4"
EMIT = 0.799
BIAS = 0.116467
WEIGHTS: tuple[tuple[str, float, float, float], ...] = (
    ("recall_weighted", 0.571797, 0.273581, 0.094976),
    ("recall_soft", 0.574257, 0.265712, 0.124072),
    ("window", 0.478956, 0.248431, 0.358574),
    ("length", 2.431443, 0.560844, 0.234786),
    ("evidence_length", 4.157366, 1.399319, -0.214945),
    ("names_missing", 0.254328, 0.376882, 0.213222),
    ("names_any", 0.374230, 0.483923, -0.406904),
    ("figures_unmet", 0.180160, 0.361411, -0.066240),
    ("figures_any", 0.221232, 0.415077, -0.287611),
    ("denies_alone", 0.089475, 0.285428, -0.143430),
    ("answers", 0.100000, 0.300000, -0.103625),
)
"""Name of the feature, its mean and standard deviation in the labelled sets, and its weight."""

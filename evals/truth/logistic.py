"""Logistic regression in plain Python: Newton's method with an L2 penalty, weighted rows, no dependency."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt

PENALTY = 60.0
STEPS = 8


@dataclass(frozen=True, slots=True)
class Model:
    """Means, scales and weights by column, and the bias, over standardized values."""

    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def score(self, row: Sequence[float]) -> float:
        """Return the probability of a row."""
        total = self.bias
        for value, mean, scale, weight in zip(row, self.means, self.scales, self.weights, strict=True):
            total += weight * (value - mean) / scale
        return 1 / (1 + exp(-max(-40.0, min(40.0, total))))


def fit(rows: Sequence[Sequence[float]], labels: Sequence[bool], weights: Sequence[float]) -> Model:
    """Fit a model; the weights of the rows are used as they are."""
    width = len(rows[0])
    total = sum(weights)
    means = [sum(w * r[j] for r, w in zip(rows, weights, strict=True)) / total for j in range(width)]
    scales = [
        sqrt(sum(w * (r[j] - means[j]) ** 2 for r, w in zip(rows, weights, strict=True)) / total) or 1.0
        for j in range(width)
    ]
    data = [[*((r[j] - means[j]) / scales[j] for j in range(width)), 1.0] for r in rows]
    beta = [0.0] * (width + 1)
    for _ in range(STEPS):
        beta = _step(data, labels, weights, beta)
    return Model(tuple(means), tuple(scales), tuple(beta[:-1]), beta[-1])


def _step(
    data: Sequence[Sequence[float]], labels: Sequence[bool], weights: Sequence[float], beta: Sequence[float]
) -> list[float]:
    size = len(beta)
    gradient = [-PENALTY * b for b in beta[:-1]] + [0.0]
    hessian = [[PENALTY * (i == j and i < size - 1) for j in range(size)] for i in range(size)]
    for row, label, weight in zip(data, labels, weights, strict=True):
        p = 1 / (1 + exp(-max(-40.0, min(40.0, sum(b * x for b, x in zip(beta, row, strict=True))))))
        error, curve = weight * (label - p), weight * p * (1 - p)
        for i, x in enumerate(row):
            gradient[i] += error * x
            scaled, line = curve * x, hessian[i]
            for j in range(i + 1):
                line[j] += scaled * row[j]
    for i in range(size):
        for j in range(i):
            hessian[j][i] = hessian[i][j]
    return [b + d for b, d in zip(beta, _solve(hessian, gradient), strict=True)]


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a symmetric positive system by Gaussian elimination."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, size):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    solved = [0.0] * size
    for i in range(size - 1, -1, -1):
        solved[i] = (rows[i][size] - sum(rows[i][j] * solved[j] for j in range(i + 1, size))) / rows[i][i]
    return solved

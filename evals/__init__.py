"""Evaluation of whole runs: frozen corpora, cases with known answers, graders."""

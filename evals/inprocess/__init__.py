"""Runs of the product's own workflow in one process: its rules and handlers over stores in memory, no broker."""

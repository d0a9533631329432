"""The synthesizer: lays out the report, writes it, checks every sentence of it, and renders what passed."""

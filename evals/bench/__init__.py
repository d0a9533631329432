"""What the extractor makes of real pages and files, measured: one command each, a table, and a result as JSON."""

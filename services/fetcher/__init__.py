"""The fetcher: searches for sources and reads them; network only, no model."""

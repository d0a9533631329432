"""Small stand-ins for ports, with real behaviour."""

"""Bytes to normalized text with maps: what was read, in which encoding, where its headings and pages stand."""

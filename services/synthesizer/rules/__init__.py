"""Pure rules of the synthesizer: what goes where, how sure it is, what is missing, how the report is put together."""

"""Models of providers: one file per provider, and the decorators that every call passes through."""

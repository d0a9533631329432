"""The routes, one blueprint per noun; each turns a request into a call of a use case or query, and back."""

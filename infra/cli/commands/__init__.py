"""The commands, one module per noun; each is loaded when it is called."""

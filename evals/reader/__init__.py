"""How the local reader is made: examples, training, export and figures (`README.md` beside this file).

Nothing here is imported by the product. Training needs the packages of the dependency group `train`.
"""

"""Language models: naming them, calling them, and what they cost."""

"""The miniature world: generated problems, and small models trained on them."""

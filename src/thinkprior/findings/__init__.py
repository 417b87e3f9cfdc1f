"""What the paper reports beside its main tables, computed from metric tables, logs and responses.

Each module turns data frames into `Measurement`s: it reads no file and prints nothing.
"""

"""The paper's tables and figures, drawn from metric tables that other stages produced.

Nothing here trains, evaluates or reads files: a table or figure is a function of data frames, of
the arms to show and of the scale that produced the numbers. The figure modules import matplotlib;
the table modules do not.
"""

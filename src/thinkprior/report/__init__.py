"""The report: one page that holds every table and figure and says how each was made."""

"""Names that stand in texts, and texts that show where something stood.

examples  examples in the docstrings of modules
shown     texts that show where something stood
strings   names that stand in texts
"""

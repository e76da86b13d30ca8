"""Names that stand in texts, and texts that show where something stood."""

"""What a move gives: change sets, their diff, and the outcome that a report shows."""

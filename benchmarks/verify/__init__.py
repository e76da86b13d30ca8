"""What it costs to judge a real move, beside the blame that a reviewer would run by hand."""

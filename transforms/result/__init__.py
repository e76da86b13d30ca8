"""What a move gives: change sets, their diff, and the outcome that a report shows.

changes  change sets
diff     the diff as git prints it
outcome  what a report can show
"""

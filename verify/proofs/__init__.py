"""What is proved of one move: replay, certificate, ancestry, together."""

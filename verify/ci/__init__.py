"""Where other programs run the judge: GitHub's Action and the pre-push hook."""

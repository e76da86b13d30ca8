"""The one report: wording, exit code, and its forms as text, JSON and a page."""

"""The report as one page that needs nothing else and runs nothing."""

from __future__ import annotations

from html import escape

from verify.report import Report, to_text

# Nothing is loaded and nothing runs, whatever a repository's text says; only the style below holds.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = "body { color-scheme: light dark; font-family: sans-serif } pre { white-space: pre-wrap }"


def to_html(report: Report) -> str:
    """Render for a browser: ASCII alone, all text of the repository escaped."""
    title = escape(to_text(report).partition("\n")[0])
    page = (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n"
        f"<body>\n<pre>{escape(to_text(report))}</pre>\n</body>\n</html>\n"
    )
    return page.encode("ascii", "xmlcharrefreplace").decode()

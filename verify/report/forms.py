"""The forms of a report that only the command writes; what it carries elsewhere has JSON alone."""

from __future__ import annotations

from verify.report.report import Report


def render(form: str, report: Report) -> str:
    """Give a report as `markdown`, `html`, `github` or `gitlab`, each loaded where it is needed."""
    if form == "markdown":
        from verify.report.markdown import to_markdown

        return to_markdown(report)
    if form == "html":
        from verify.report.html import to_html

        return to_html(report)
    from verify.report.marks import to_github, to_gitlab

    return {"github": to_github, "gitlab": to_gitlab}[form](report.marks)

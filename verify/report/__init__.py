"""The one report: wording, exit code, and its forms as text, JSON and a page.

console   stdout, stderr, colour
decision  what a reader is told first, and how large a change is
escape    text of a repository, made safe to show
exhibits  what a report has for it: code in place, a picture
forms     the forms of a report that only the command writes
hunks     lines of a change as a diff shows them, with what stands around them
html      the page: one file, no script, a policy that lets nothing run or load
markdown  Markdown, for a job summary or a comment
marks     places to look at, as GitHub and GitLab show them beside the code
progress  what is being done and how far it is, for whoever waits; and what it took
report    the one report: wording, exit code, text, JSON
page      The parts of a page: elements, code, the picture of a move, the style
"""

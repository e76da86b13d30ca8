"""The MCP server, `repot mcp`: the engine's commands as tools for agents, over stdio.

Each call runs a command of the engine in a process of its own, and gives its report in pages.
Nothing of the engine is imported here, and nothing of the tree's code is run anywhere.

refusals  why a call is not answered: the same data as the engine's own refusals
root      the one folder that is served, and which paths lie in it
process   runs the engine: its environment, its time, its report; ends it with all it started
pages     a report as a summary and rows, a page at a time
tools     the tools: what each takes, and the command line that it becomes
calls     answers one call
schema    the JSON Schema of what the tools give
app       the server, with the `mcp` SDK
start     reads the command line
"""

// Runs a module of this repository on CPython 3.14, which the package `pyodide` brings as WebAssembly:
//   node run.mjs FOLDER-OF-PYODIDE REPOSITORY MODULE
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, repository, module] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(pyodide, "pyodide.mjs")));
const python = await loadPyodide();
python.FS.mkdirTree("/repository");
python.FS.mount(python.FS.filesystems.NODEFS, { root: resolve(repository) }, "/repository");
python.globals.set("module", module);
process.exitCode = python.runPython(`
import runpy, sys

sys.dont_write_bytecode = True  # the repository is mounted, and stays as it is
sys.path.insert(0, "/repository")
try:
    runpy.run_module(module, run_name="__main__")
    code = 0
except SystemExit as end:
    code = end.code or 0
int(code)
`);

"""Modules of rodeo.torch import only lower ones: no circle, and none takes names of the package that is being made."""
import ast
import graphlib
from pathlib import Path

import rodeo


def imported(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from [node.module] if node.module else [alias.name for alias in node.names]


def test_modules_import_lower_ones():
    files = sorted((Path(rodeo.__file__).parent / "torch").glob("*.py"))
    imports = {file.stem: set(imported(file)) for file in files}
    list(graphlib.TopologicalSorter(imports).static_order())  # CycleError names a circle
    assert set().union(*imports.values()) <= set(imports)

#!/usr/bin/env python3
"""Fails when an #include runs against the layers of the architecture, or a private dependency leaks.

The arrows are those of docs/architecture.md: a layer may include itself and whatever lies below it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Direct arrows; what may be included is everything reachable along them.
ARROWS = {
    "support": [],
    "ir": ["support"],
    "schedule": ["ir"],
    "runtime/rt": [],
    "codegen": ["schedule", "runtime/rt"],
    "runtime": ["codegen", "runtime/rt"],
    "cost_model": ["schedule"],
    "search": ["runtime", "cost_model"],
    "transfer": ["search"],
    "graph": ["transfer"],
}
ABOVE = ["tools", "examples", "bench", "tests"]  # may include any layer

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
FORBIDDEN = re.compile(r"\b(dynamic_cast|typeid)\b\s*[<(]|\bthrow\b|\bcatch\s*\(|\btry\s*\{")


def reachable(layer):
    seen, queue = {layer}, [layer]
    while queue:
        for below in ARROWS[queue.pop()]:
            if below not in seen:
                seen.add(below)
                queue.append(below)
    return seen


def layer_of(path):
    """The layer or upper folder that a path relative to the root lies in, or None."""
    if path.startswith("runtime/rt/"):
        return "runtime/rt"
    return path.split("/")[0] if "/" in path else None


def is_test_source(path):
    return path.endswith("_test.cpp") or path.split("/")[-1].startswith("test_")


def private_use(path, header):
    """Why `header` may not be included by `path`, or None."""
    layer, is_test = layer_of(path), is_test_source(path)
    if header.startswith(("llvm/", "llvm-c/", "lld/", "clang/")):
        parts = path.split("/")
        if layer == "codegen" and (parts[1] == "internal" or (len(parts) == 2 and path.endswith(".cpp"))):
            return None
        return "LLVM headers belong in codegen/*.cpp and codegen/internal/"
    if header.startswith("nlohmann/"):
        return None if path == "support/json.cpp" else "nlohmann belongs in support/json.cpp"
    if header.startswith(("Eigen/", "unsupported/Eigen")):
        if (layer == "cost_model" and path.endswith(".cpp")) or layer in ("bench", "tests"):
            return None
        return "Eigen belongs in cost_model/*.cpp, bench and tests"
    if header == "espalier/support/json.h":
        return "support/json.h belongs in .cpp files" if path.endswith(".h") and layer in ARROWS and layer != "support" else None
    if header.startswith(("gtest/", "gmock/")) and layer in ARROWS and not is_test:
        return "gtest belongs in tests"
    return None


def strip_comments(text):
    """Blanks comments and string literals, keeping line numbers."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return pattern.sub(lambda m: "\n" * m.group().count("\n"), text)


def check_file(path, text, problems):
    layer = layer_of(path)
    allowed = reachable(layer) if layer in ARROWS else None
    for match in INCLUDE.finditer(text):
        quote, header = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        reason = private_use(path, header)
        if reason:
            problems.append(f"{path}:{line}: includes {header}: {reason}")
        target = header[len("espalier/"):] if header.startswith("espalier/") else None
        if target is None:
            if quote == '"' and layer in ARROWS and (ROOT / path).parent.joinpath(header).exists():
                problems.append(f'{path}:{line}: write "espalier/..." instead of "{header}"')
            continue
        if allowed is None:
            continue
        target_layer = layer_of(target)
        if target_layer not in allowed:
            what = target_layer or "everything"
            problems.append(f"{path}:{line}: {layer} must not include {what} ({header}); "
                            f"it may use {', '.join(sorted(allowed))}")
    # The layers are built without exceptions and RTTI, but templates that nothing uses would pass the compiler.
    if layer in ARROWS and not is_test_source(path):
        code = strip_comments(text)
        for match in FORBIDDEN.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            problems.append(f"{path}:{line}: '{match.group().strip()}' in a layer: these do without exceptions and RTTI")


def main():
    problems, files = [], 0
    for folder in [*ARROWS, *ABOVE]:
        for file in sorted((ROOT / folder).rglob("*")):
            path = file.relative_to(ROOT).as_posix()
            if file.suffix not in (".h", ".c", ".cpp") or layer_of(path) != folder:
                continue
            files += 1
            check_file(path, file.read_text(encoding="utf-8"), problems)
    for problem in problems:
        print(problem)
    print(f"check_layers: {files} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks README.md and docs/*.md: relative links and the files named in backticks exist, no machine paths."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

LINK = re.compile(r"(?<!!)!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:home|root|work|tmp|Users|mnt)/[\w./-]+")
SOURCE_SUFFIX = (".h", ".c", ".cpp", ".py", ".sh", ".md", ".txt", ".cmake", ".in")


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", lambda m: m.group(1) or "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return {slug(heading) for heading in re.findall(r"^#+\s+(.*)$", text, re.MULTILINE)}


def top_folders():
    return {p.name for p in ROOT.iterdir() if p.is_dir() and p.name not in ("build", ".git")}


def named_file(code, folders):
    """The repository path that a backticked text names, or None if it does not look like one."""
    path = re.sub(r":\d+$", "", code).removeprefix("./").removeprefix("espalier/")
    if re.search(r"[\s<>*{}$=,()|…]|\.\.\.", path) or "/" not in path:
        return None
    if path.split("/")[0] not in folders:
        return None
    return path if path.endswith(SOURCE_SUFFIX) or path.endswith("/") else None


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def blank(match):
    return "\n" * match.group().count("\n")


def check(document, folders, problems):
    text = document.read_text(encoding="utf-8")
    name = document.relative_to(ROOT).as_posix()
    for match in MACHINE_PATH.finditer(text):
        problems.append(f"{name}:{line_of(text, match.start())}: machine path {match.group()}")
    prose = FENCE.sub(blank, text)
    for match in CODE.finditer(prose):
        path = named_file(match.group(1), folders)
        if path and not (ROOT / path).exists():
            problems.append(f"{name}:{line_of(prose, match.start())}: no file {path}")
    for match in LINK.finditer(CODE.sub("``", prose)):
        target = match.group(1)
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        if not file.exists():
            problems.append(f"{name}: broken link to {target}")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            problems.append(f"{name}: no heading for {target}")


def main():
    problems, folders = [], top_folders()
    documents = [p for p in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))] if p.exists()]
    for document in documents:
        check(document, folders, problems)
    for problem in problems:
        print(problem)
    print(f"check_docs: {len(documents)} documents, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

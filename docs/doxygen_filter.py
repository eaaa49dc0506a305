#!/usr/bin/env python3
"""Translates the comment style of the headers for Doxygen: doxygen_filter.py FILE.h

A /// comment documents all declarations below it up to a blank line; they become a group. Its text is plain: it has no
Doxygen commands or HTML tags, and indented lines (shapes, formulas) keep their layout. A comment at the end of a
member's line, with its continuation lines, documents that member.
"""
import re
import sys

COMMENT = re.compile(r"\s*///")


def escaped(text):
    return re.sub(r"([\\@&$#<>%])", r"\\\1", text)


def shown(comment, first=""):
    """One /// comment as a /** */ comment for Doxygen. Indented lines become @verbatim blocks."""
    out, verbatim = ["/** " + first], False
    for line in comment:
        text = line.strip()[3:].replace("*/", "* /")
        if text.strip() and text.startswith("   ") != verbatim:
            out.append("@endverbatim" if verbatim else "@verbatim")
            verbatim = not verbatim
        out.append(text[1:] if verbatim else escaped(text))
    return out + ["@endverbatim"] * verbatim + ["*/"]


def blocks(lines):
    """(comment, code) pairs in the order of the file; code runs to a blank line or the next comment."""
    i = 0
    while i < len(lines):
        comment, code = [], []
        while i < len(lines) and COMMENT.match(lines[i]):
            comment.append(lines[i])
            i += 1
        while i < len(lines) and lines[i].strip() and not COMMENT.match(lines[i]):
            code.append(lines[i])
            i += 1
        while i < len(lines) and not lines[i].strip():
            code.append(lines[i])
            i += 1
        yield comment, code


def declarations(code):
    """The number of declarations before a scope opens or closes; 0 if the code begins with a type."""
    count, depth = 0, 0
    for line in code:
        if re.match(r"\s*(class|struct|enum|namespace)\b.*[{;]\s*(//.*)?$", line) or re.match(r"\s*}", line):
            return count
        depth += line.count("(") + line.count("{") - line.count(")") - line.count("}")
        if depth == 0 and re.search(r"[;}]\s*(//.*)?$", line):
            count += 1
    return count


def with_member_comments(code):
    out, continues = [], False
    for line in code:
        match = re.match(r"^(\s*[^\s/#].*?[;,{}]|\s*k\w+)(\s+)// (.*)$", line)
        if match:
            line = f"{match[1]}{match[2]}///< {escaped(match[3])}"
        elif continues and re.match(r"^\s+// ", line):
            line = re.sub(r"// (.*)", lambda m: "///< " + escaped(m[1]), line, count=1)
        else:
            line, match = line, None
        continues = match is not None or (continues and "///<" in line)
        out.append(line)
    return out


def grouped(lines, header):
    """Puts all declarations of the header into one group, which Doxygen shows as one page."""
    group = re.sub(r"\W", "_", header)
    opened = lines.index("namespace rodeo {") if "namespace rodeo {" in lines else None
    if opened is None:
        return lines
    closed = max(i for i, line in enumerate(lines) if line.startswith("}  // namespace rodeo"))
    head = [f"/** @defgroup {group} {header} */", "namespace rodeo {", f"/** @addtogroup {group} */", "/**@{*/", ""]
    return lines[:opened] + head + lines[opened + 1:closed] + ["/**@}*/"] + lines[closed:]


def filtered(lines):
    out = []
    for number, (comment, code) in enumerate(blocks(lines)):
        if comment:
            out += shown(comment, "@file" if code and code[0].startswith("#pragma once") else "")
        count = declarations(code) if comment else 0
        if count > 1:
            indent = re.match(r"\s*", code[0]).group()
            end = max(i for i, line in enumerate(code) if line.strip()) + 1
            for i, line in enumerate(code):  # a scope that opens or closes here ends the group
                if re.match(r"\s*(class|struct|enum|namespace)\b.*{", line) or re.match(r"\s*}", line) and not line.startswith(indent + "}"):
                    end = i
                    break
            out[-1:] = ["@{", "*/"]
            code = code[:end] + [indent + "///@}"] + code[end:]
        out += with_member_comments(code)
    return out


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        shown_lines = filtered(file.read().split("\n"))
    print("\n".join(grouped(shown_lines, "/".join(sys.argv[1].split("/")[-2:]))))

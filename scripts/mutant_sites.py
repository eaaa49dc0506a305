"""Draws slips of one token in C++ sources, for draw_mutants.py."""
import dataclasses
import random
import re

SLIPS = [  # the kind, where it may be, and what it becomes
    ("comparison", r" (<|>) (?!\w*>)", r" \1= "),
    ("comparison", r" (<|>)= ", r" \1 "),
    ("equality", r" == ", " != "),
    ("equality", r" != ", " == "),
    ("sum", r" \+ ", " - "),
    ("sum", r" - ", " + "),
    ("product", r" \* ", " + "),
    ("product", r" [/%] ", " * "),
    ("update", r" [-+|*]= ", " = "),
    ("logic", r" && ", " || "),
    ("logic", r" \|\| ", " && "),
    ("negation", r"(?<![\w)\]])!(?=[\w(])", ""),
    ("extreme", r"(?<!>::)\bmin\(", "max("),
    ("extreme", r"(?<!>::)\bmax\(", "min("),
    ("number", r"(?<![\w.'])0(?![\w.'])", "1"),
    ("number", r"(?<![\w.'])1(?![\w.'])", "0"),
    ("number", r"(?<![\w.'])([2-9]|\d\d+)(?![\w.'])", r"\1 + 1"),
    ("range", r"(?<![!=]= )(?<!\w)(\w+)\.begin\(\)", r"\1.begin() + 1"),
    ("range", r"(?<![\w.])(?<![!=]= )(\w+)\.end\(\)", r"\1.end() - 1"),
    ("range", r"\.size\(\)", ".size() - 1"),
    ("range", r"\.front\(\)", ".back()"),
    ("range", r"\.back\(\)", ".front()"),
    ("jump", r"\bcontinue;", "break;"),
    ("jump", r"\bbreak;", "continue;"),
    ("bool", r"\btrue\b", "false"),
    ("bool", r"\bfalse\b", "true"),
    ("dropped", r"(?<=[;{})]\n)[ ]+(?!return|throw|using|break|continue|delete)[\w.\[\]*>()-]+ [-+|*/]?= [^;{}\n]+;(?=\n)", ";"),
    ("dropped", r"(?<=[;{})]\n)[ ]+(?!return|throw|using|static_assert)[\w.:>-]+\([^;{}\n]*\);(?=\n)", ";"),
    ("swapped", r"(?<=[(, ])([a-z][\w.]*), ([a-z][\w.]*)(?=[,)])", r"\2, \1"),
    ("swapped", r"\[(\w+), (\w+)\](?= [:=])", r"[\2, \1]"),
]
# Calls whose arguments are texts for people, or change no result; those of check() are texts from the second on.
TEXTS = r"\b(?:static_assert|assert|str|fail|f?print|s?n?printf|println|format|refuse|error|bad|warn\w*|reserve|Error|OutOfMemory|NotFinite)\("


@dataclasses.dataclass
class Slip:
    path: str
    line: int
    kind: str
    change: str
    text: str  # of the file with the slip
    verdict: str = "not run"
    passed: int = 0  # stages of its tests


def closing(text, start):
    """The place behind the parenthesis that closes the one before start, and that of the first comma between them."""
    depth, comma = 1, None
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 1 and text[at] == ",":
            comma = comma or at
        if depth == 0:
            return at, comma or at
    return len(text), len(text)


def code_only(text):
    """The text with blanks for all that is no code, or code that only prints: each character stays at its place."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    text = re.sub(r'R"(\w*)\(.*?\)\1"', blank, text, flags=re.S)
    text = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'", blank, text, flags=re.S)
    text = re.sub(r"^#if[^\n]*(?:CUDA|CUDNN|CPU_LEVELS|__clang__|SANITIZE).*?^#(?:else|endif)", blank, text, flags=re.S | re.M)
    text = re.sub(r"^ *#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)
    text = re.sub(r"\bthrow\b[^;]*;|\bc(?:err|out|log)\b[^;]*;|^(?:template|using|namespace)\b[^\n]*", blank, text, flags=re.M)
    for call in (TEXTS, r"\bcheck\("):
        for match in reversed(list(re.finditer(call, text))):
            end, comma = closing(text, match.end())
            begin = match.start() if call == TEXTS else comma
            text = text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]
    return text


def sites(text):
    """{kind: [slip]} of a source. A slip: begin, end and what is there then."""
    code = code_only(text)
    found = {}
    for kind, pattern, new in SLIPS:
        for match in re.finditer(pattern, code):
            blanks = re.match(" *", match.group()).group() if kind == "dropped" else ""
            other = blanks + match.expand(new)
            if kind != "swapped" or match.group(1) != match.group(2):
                found.setdefault(kind, []).append((match.start(), match.end(), other))
    return found


def draw(sources, count, seed):
    """`count` slips of the sources {path: text}: as many of each room as it has lines, and of each kind alike."""
    chance = random.Random(seed)
    rooms = {}
    for path, text in sources.items():
        for kind, places in sites(text).items():
            rooms.setdefault(path.split("/")[0], {}).setdefault(kind, []).extend((path, *place) for place in places)
    lines = {room: sum(text.count("\n") for path, text in sources.items() if path.startswith(f"{room}/")) for room in rooms}
    slips, taken = [], set()
    while len(slips) < count and any(any(kinds.values()) for kinds in rooms.values()):
        room = chance.choices(list(rooms), [lines[room] if any(rooms[room].values()) else 0 for room in rooms])[0]
        kind = chance.choice([kind for kind, places in rooms[room].items() if places])
        path, begin, end, new = rooms[room][kind].pop(chance.randrange(len(rooms[room][kind])))
        text = sources[path]
        line = text.count("\n", 0, begin) + 1
        if (path, line) in taken:
            continue
        taken.add((path, line))
        first, last = text.rfind("\n", 0, begin) + 1, text.find("\n", end)
        changed = text[:begin] + new + text[end:]
        old_line, new_line = text[first:last].strip(), changed[first:last + len(changed) - len(text)].strip()
        slips.append(Slip(path, line, kind, f"{old_line} -> {new_line}", changed))
    return slips

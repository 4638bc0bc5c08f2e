"""What tidy must know of C++: text without comments and strings, function lengths, co_await."""
import re

LITERAL = re.compile(
    r'R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r"|//[^\n]*|/\*.*?\*/", re.S)


def blank(text):
    """Comments and literals become spaces (strings keep their quotes); lines stay in place."""
    def spaces(match):
        found = match.group()
        inner = re.sub(r"[^\n]", " ", found)
        return f'"{inner[2:]}"' if found.endswith('"') and len(found) > 1 else inner
    return LITERAL.sub(spaces, text)


def without_directives(text):
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*",
                  lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.M)


SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b")
# `Thing::Thing(..) : a_` before the brace of a member's initialiser.
INITIALISER = re.compile(r"\)[^;{}]*?(?<!:):(?!:).*[\w>]\s*$", re.S)


def closing(text, at):
    """The position of the brace that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            depth -= 1
            if depth == 0:
                return i
    return len(text) - 1


def functions(code):
    """(first line, lines) of each function in blanked text: a heuristic by braces. What is nested
    in a function (a lambda, a local class) counts as part of it."""
    code = without_directives(code)
    head = 0
    i = 0
    while i < len(code):
        c = code[i]
        if c in ";}":
            head = i + 1
        elif c == "{":
            before = code[head:i]
            if INITIALISER.search(before):
                i = closing(code, i)
            elif is_function(before):
                end = closing(code, i)
                first = head + len(before) - len(before.lstrip())
                yield code.count("\n", 0, first) + 1, code.count("\n", first, end) + 1
                i = end
                head = i + 1
            elif SCOPE.search(before):
                head = i + 1
            else:  # data
                i = closing(code, i)
        i += 1


def is_function(before):
    if "(" not in before or re.search(r"(?<!operator)(?<![=!<>])=\s*$", before):
        return False
    # `struct X f() {` is rare; `class A : public B<decltype(c())> {` rarer. A scope ends in no ')'.
    if SCOPE.search(before) and not re.search(
            r"\)\s*(?:const|noexcept|override|final|&|\s)*(?:->[^{]*)?$", before):
        return False
    return True


CAPTURE = re.compile(r"(?<![\w\])])\[\s*[^\]\s][^\]]*\]\s*(?:\(|\{|mutable|->)")
BRACES = re.compile(r"(?:[\w>]|[(,]\s*)\s*\{\s*(?:[^}\s])")
CONTROL = re.compile(r"\s*(?:if|while|for|switch)\b")


def statement(text, at):
    """The full expression around position `at`."""
    depth, i = 0, at - 1
    while i >= 0:
        c = text[i]
        if c in ")]}":
            depth += 1
        elif c in "([{":
            if depth == 0 and c == "{":
                break
            depth = max(0, depth - 1)
        elif c == ";" and depth == 0:
            break
        i -= 1
    depth, j = 0, at
    while j < len(text):
        c = text[j]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == ";" and depth <= 0:
            break
        j += 1
    return text[i + 1:j]


def co_await_faults(code):
    """g++ 12 destroys a capturing lambda or an aggregate {..} temporary twice when the expression
    it lives in contains co_await. Yields the lines of such statements; a few harmless ones too."""
    for found in re.finditer(r"\bco_await\b", code):
        text = statement(code, found.start())
        if CAPTURE.search(text) or (not CONTROL.match(text) and BRACES.search(text)):
            yield code.count("\n", 0, found.start()) + 1

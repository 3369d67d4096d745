# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""What the public headers declare, and what their comments say of it.

A comment belongs to the declaration on the next line, and to those that follow it without a blank line. The labels in it, each
from its colon to the next label or the end of the paragraph:

    Requires: ...    Threads: ...    Fails: ... (or "Never fails")    Cost: ...        also "Requires, Threads: ..."

What a comment does not say holds as the comment of its class says, and then as the opening comment of the file does, in the
paragraph that begins "Unless a call says otherwise". Names with two underscores, namespace detail and what is private
are lido's own and no part of this.

    for item in declarations(path): item.kind, item.name, item.line, item.comment, item.contract
"""

import dataclasses
import pathlib
import re

LABELS = ("Requires", "Threads", "Fails", "Cost")
OTHERWISE = "Unless a call says otherwise"
_ONE = "|".join(LABELS)
_LABEL = re.compile(rf"(?<![\w-])({_ONE})((?:, (?:{_ONE}))*):|(Never fails)\b")


@dataclasses.dataclass
class Item:
    kind: str    # function, type, macro
    name: str    # qualified: lido::object_pool::make
    line: int
    comment: list    # lines without the slashes
    inherited: bool    # the comment stands above a declaration before this one
    contract: dict    # label -> text, defaults included


def labels_in(lines):
    """Label to text of one comment."""
    found = {}
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        text = " ".join(paragraph.split())
        marks = list(_LABEL.finditer(text))
        for mark, following in zip(marks, [*marks[1:], None]):
            said = text[mark.end():following.start() if following else len(text)].strip(" ,;")
            if mark[3]:
                found.setdefault("Fails", f"never; {said}" if len(said) > 1 else "never")
                continue
            for label in [mark[1], *re.findall(_ONE, mark[2])]:
                found.setdefault(label, said)
    return found


def before_labels(lines):
    """The paragraphs of a comment up to their first labels."""
    kept = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        mark = _LABEL.search(paragraph)
        kept.append(paragraph[:mark.start()].rstrip(" ,;") if mark else paragraph)
    return "\n\n".join(kept).split("\n")


def defaults_in(head):
    """Of a file's opening comment: only the paragraph that says so."""
    for paragraph in re.split(r"\n\s*\n", "\n".join(head)):
        if " ".join(paragraph.split()).startswith(OTHERWISE):
            return labels_in([paragraph])
    return {}


@dataclasses.dataclass
class _Scope:
    name: str
    public: bool
    hidden: bool
    defaults: dict


class Reader:
    """Walks over one header at the level of declarations; bodies are stepped over."""

    def __init__(self, path):
        self.text = path.read_text()
        self.at = 0
        self.items = []
        self.comment, self.head = [], []
        self.previous = None    # the comment that a declaration without one may inherit
        self.scopes = []
        self.seen_code = False
        self.aside = []    # (first, last) lines of friend classes and of specializations of others' templates
        self.code = []    # (first, last) lines of function bodies and macros, where no comment is for users

    def line(self):
        return self.text.count("\n", 0, self.at) + 1

    def hidden(self):
        return any(scope.hidden or not scope.public for scope in self.scopes)

    def qualified(self, name):
        return "::".join([scope.name for scope in self.scopes if scope.name] + [name])

    def defaults(self):
        merged = {}
        for scope in self.scopes:
            merged.update(scope.defaults)
        return merged

    def add(self, kind, name, line):
        comment, inherited = self.comment, False
        if not comment and self.previous is not None:
            comment, inherited = self.previous, True
        self.previous = comment or None
        self.comment = []
        if "__" not in name.replace("__init__", "") and not self.hidden():
            contract = {**self.defaults(), **labels_in(comment)}
            self.items.append(Item(kind, self.qualified(name), line, comment, inherited, contract))

    def read(self):
        while self.at < len(self.text):
            if self.text[self.at].isspace():
                blank = re.match(r"\s*", self.text[self.at:])[0]
                if blank.count("\n") > 1:
                    self.comment, self.previous = [], None
                self.at += len(blank)
            elif self.text.startswith("//", self.at):
                self.read_comment()
            elif self.text[self.at] == "#":
                self.read_directive()
            elif self.text[self.at] == "}":
                self.at = self.text.find(";", self.at) + 1 if self.text.startswith("};", self.at) else self.at + 1
                if self.scopes:
                    self.scopes.pop()
                self.comment, self.previous = [], None
            else:
                self.read_declaration()
        return self.items

    def read_comment(self):
        end = self.text.find("\n", self.at)
        said = self.text[self.at + 2:end]
        # Behind code on its line it is the code's own.
        if self.text[self.text.rfind("\n", 0, self.at) + 1:self.at].strip() == "":
            self.comment.append(said)
            if not self.seen_code:
                self.head.append(said)
        self.at = end

    def read_directive(self):
        self.open_file()
        line = self.line()
        whole = re.match(r"(?:[^\n]*\\\n)*[^\n]*", self.text[self.at:])[0]
        self.at += len(whole)
        self.code.append((line, self.line()))
        macro = re.match(r"#define\s+(LIDO_\w+)", whole)
        guard = macro and re.fullmatch(r"#define\s+LIDO_\w*H(?:PP)?\s*", whole)
        if macro and not guard:
            self.add("macro", macro[1], line)
        else:
            self.comment, self.previous = [], None

    def open_file(self):
        if not self.seen_code:
            self.seen_code = True
            self.scopes = [_Scope("", True, False, defaults_in(self.head[3:]))]
            self.comment = []

    def skip_body(self):
        """From behind an opening brace to behind its closing one."""
        depth = 1
        for mark in re.finditer(r'//[^\n]*|"(?:\\.|[^"\\])*"|[{}]', self.text[self.at:]):
            depth += {"{": 1, "}": -1}.get(mark[0], 0)
            if depth == 0:
                self.at += mark.end()
                return
        raise ValueError(f"a brace that is not closed, before line {self.line()}")

    def read_declaration(self):
        self.open_file()
        if (label := re.match(r"(public|private|protected):", self.text[self.at:])):
            self.scopes[-1].public = label[1] == "public"
            self.at += label.end()
            self.comment, self.previous = [], None
            return
        if (bare := re.match(r"LIDO_(BEGIN|END)_DECLS", self.text[self.at:])):
            self.at += bare.end()
            return
        line, start, depth = self.line(), self.at, 0
        for mark in re.finditer(r'//[^\n]*|"(?:\\.|[^"\\])*"|[(){};]', self.text[start:]):
            depth += {"(": 1, ")": -1}.get(mark[0], 0)
            if depth == 0 and mark[0] in ("{", ";"):
                code = re.sub(r"//[^\n]*", "", self.text[start:start + mark.start()])
                self.at = start + mark.end()
                self.classify(" ".join(code.split()), mark[0], line)
                return
        raise ValueError(f"a declaration without an end at line {line}")

    def classify(self, code, end, line):
        if (space := re.match(r"(?:inline )?namespace ?([\w:]*)", code)) and end == "{":
            self.scopes.append(_Scope(space[1], True, space[1] in ("detail", "std"), {}))
            self.comment, self.previous = [], None
            return
        plain = _without_noise(code)
        if end == "{" and re.match(r"(class|struct)\b", plain) and "(" not in plain:
            self.open_class(plain, line)
            return
        if end == "{" and re.match(r"(typedef )?(struct|enum|union)\b", plain) and "(" not in plain:
            self.skip_body()
            tail = re.match(r"[^;]*;", self.text[self.at:])[0]
            self.at += len(tail)
            name = re.search(r"(\w+)\s*;$", tail) or re.search(r"(?:struct|enum|union) (\w+)", plain)
            self.add("type", name[1], line) if name else self.forget()
            return
        function = re.search(r"(operator ?\(\)|operator ?[^\s(]+(?: ?\w+)*(?:\[\])?|~?\w+)\s*\(", plain)
        if end == "{":
            first = self.line()
            self.skip_body()
            self.code.append((first, self.line()))
        if re.match(r"friend (class|struct)\b", plain):
            self.aside.append((line, self.line()))
            self.forget()
        elif re.search(r"= (delete|default)$", plain):
            self.comment, self.previous = [], self.comment or self.previous
        elif re.match(r"(typedef|using)\b", plain) and not re.match(r"using \w+::|using [\w:<>, ]+::", plain):
            name = re.search(r"\(?(\w+)(?:\)?\(.*\))?$", plain) if plain.startswith("typedef") else re.match(r"using (\w+)", plain)
            self.add("type", name[1], line)
        elif re.match(r"static_assert|LIDO_POOL_DEFINE|__asm__", plain) or plain.startswith("using "):
            self.forget()
        elif function and not re.match(r"std::function<", plain) and not re.match(r"[^(]*=", plain.split("operator")[0].split("(")[0] + "("):
            self.add("function", function[1], line)
        else:
            self.forget()

    def forget(self):
        self.comment, self.previous = [], None

    def open_class(self, code, line):
        if re.match(r"(?:class|struct) [\w:]+<", code):
            self.skip_body()
            self.aside.append((line, self.line()))
            self.forget()
            return
        name = re.match(r"(?:class|struct) ([\w:]+)", code)[1]
        comment = self.comment
        self.add("type", name, line)
        self.scopes.append(_Scope(name, code.startswith("struct"), "__" in name, labels_in(comment)))
        self.comment, self.previous = [], None


def _without_noise(code):
    """Without template <...> in front, attributes and what lido's macros stand for."""
    if code.startswith("template"):
        depth = 0
        for mark in re.finditer(r"->|[<>]", code):
            depth += {"<": 1, ">": -1}.get(mark[0], 0)
            if depth == 0 and mark[0] == ">":
                return _without_noise(code[mark.end():].strip())
    return re.sub(r"\[\[.*?\]\]|__attribute__\(\(.*?\)\)+|LIDO_ATTR_\w+(\([\w, ]*\))?|LIDO_API|LIDO_INLINE|alignas\([^)]*\)|"
                  r"\bnoexcept\([^{;]*$", "", code).strip()


def declarations(path):
    return Reader(pathlib.Path(path)).read()

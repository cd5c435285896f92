"""Random programs, finite and with integer noise, and mutants of programs, as texts."""

import re

NUMBERS = ("0", "1", "2", "-1", "1/2")
SCALES = ("1/eps", "2/eps", "4/eps", "1/(2*eps)")
CLAIMS = ("eps", "2*eps", "eps/2", "3*eps", "4*eps")
LISTS = {
    "q : private int list": ("one by 1", "all by 1", "monotone by 1", "one by 2", "add-remove in [0, 2]"),
    "q : private {0..2} list": ("one by 1", "all by 1", "replace", "replace by 1", "add-remove in [0, 2]"),
    "q : private {0,1} list": ("replace", "all by 1", "add-remove in [0, 1]"),
    "q : private int list ": ("replace in [0, 2]", "all by 2", "monotone by 2", "any"),
}
OPPOSITE = {"<": ">", ">": "<", "<=": "<", ">=": ">", "+": "-", "-": "+", "*": "+"}
SCALARS = {
    "x : private {0..2}": ("one by 1", "replace", "any"),
    "x : private bool": ("replace",),
    "x : private int": ("one by 1", "one by 2", "replace in [0, 2]"),
}


class Maker:
    """Makes one program; `names` are the numbers that may be read, `truths` the truth values."""

    def __init__(self, pick):
        self.pick, self.names, self.truths, self.lines, self.fresh = pick, ["1", "2"], [], [], 0

    def number(self):
        first, second = self.pick.choice(self.names), self.pick.choice(self.names)
        return self.pick.choice([first, first, f"{first} + {second}", f"{first} - {second}", f"2 * {first}"])

    def truth(self):
        if self.truths and self.pick.random() < 0.5:
            return self.pick.choice(self.truths)
        return f"{self.number()} {self.pick.choice(['<', '<=', '>', '=', '!='])} {self.number()}"

    def name(self):
        self.fresh += 1
        return f"v{self.fresh}"

    def draw(self, indent, *, noisy):
        target, kind = self.name(), self.pick.random()
        if kind < (0.75 if noisy else 0.0):
            centre = f", {self.number()}" if self.pick.random() < 0.6 else ""
            self.lines.append(f"{indent}{target} := $ Geometric({self.pick.choice(SCALES)}{centre})")
        elif kind < 0.85:
            rate = self.pick.choice(["eps", "eps/2", "2*eps"])
            self.lines.append(f"{indent}{target} := $ Response({rate})")
            self.truths.append(target)
            return
        elif kind < 0.92:
            self.lines.append(f"{indent}{target} := $ Uniform({{0..{self.pick.randint(1, 2)}}})")
        else:
            self.lines.append(f"{indent}{target} := $ Bernoulli({self.pick.choice(['1/2', '1/4', '1'])})")
            self.truths.append(target)
            return
        self.names.append(target)

    def branch(self, indent):
        target, test = self.name(), self.truth()
        self.lines.append(f"{indent}{target} := {self.pick.choice(['0', self.number()])}")
        self.lines += [f"{indent}if {test} then", f"{indent}  {target} := {self.number()}"]
        if self.pick.random() < 0.5:
            self.lines += [f"{indent}else", f"{indent}  {target} := {self.number()}"]
        self.names.append(target)

    def output(self, indent):
        if self.pick.random() < 0.6:
            self.lines.append(f"{indent}r := r ++ [{self.number()}]")
            return
        self.lines += [f"{indent}if {self.truth()} then", f"{indent}  r := r ++ [{self.number()}]"]
        self.lines += [f"{indent}else", f"{indent}  r := r ++ [0]"]

    def statements(self, indent, count, *, noisy, appends):
        for _ in range(count):
            kind = self.pick.random()
            if kind < 0.5:
                self.draw(indent, noisy=noisy)
            elif kind < 0.75 or not appends:
                self.branch(indent)
            else:
                self.output(indent)


def program(pick):
    """Return the text of a random program."""
    maker, listed, noisy = Maker(pick), pick.random() < 0.6, pick.random() < 0.6
    table = LISTS if listed else SCALARS
    declared = pick.choice(sorted(table))
    relation, name = pick.choice(table[declared]), declared[0]
    body = [f"  neighbours {name} {relation}"]
    size = pick.choice(["size(q) = 1", "size(q) = 2", "size(q) >= 1", "size(q) <= 2"])
    if listed and not relation.startswith(("add-remove", "any")):
        body.append(f"  requires {size}")
    else:
        size = ""
    if pick.random() < 0.2:
        body.append("  requires eps = 1")
    claim = pick.choice(CLAIMS) + (" delta 1/10" if pick.random() < 0.05 else "")
    body.append("  ensures secret" if pick.random() < 0.05 else f"  ensures epsilon {claim}")
    maker.lines.append("  r := []; s := 0; w := 0")
    maker.names += ["s", "w"]
    if not listed:
        read = "x" if "bool" not in declared else "(if x then 1 else 0)"
        maker.names.append(read)
        maker.names.append(read)
        maker.statements("  ", pick.randint(1, 4), noisy=noisy, appends=True)
    else:
        walk = "add-remove" in relation or pick.random() < 0.3
        maker.lines += ["  i := 0", "  while i < size(q)"]
        outside, tests = list(maker.names), list(maker.truths)
        maker.names += ["q[i]", "q[i]", "i"]
        if not walk:
            maker.statements("    ", pick.randint(1, 3), noisy=noisy, appends=True)
        maker.lines.append(f"    s := {pick.choice(['s + q[i]', 's + q[i]', 'q[i]', maker.number()])}")
        maker.lines.append("    i := i + 1")
        maker.names, maker.truths = outside, tests
        maker.names += ["q[0]"] if size not in ("", "size(q) <= 2") else []
        maker.statements("  ", pick.randint(1, 3), noisy=noisy, appends=True)
        if pick.random() < 0.15 and size not in ("", "size(q) <= 2"):
            maker.lines.append(f"  k := $ ExpMech({pick.choice(['eps', 'eps/2'])}, q)")
            maker.names.append("k")
    values = [maker.names[-1], "w", "s", "r", *maker.names[-2:], *maker.truths[-1:]]
    chosen = [pick.choice(values)] if pick.random() < 0.8 else [pick.choice(values), "r"]
    chosen = [v for n, v in enumerate(chosen) if v not in chosen[:n]]
    maker.lines.append(f"  return {chosen[0]}" if len(chosen) == 1 else f"  return ({', '.join(chosen)})")
    return "\n".join([f"P ({declared.strip()})", *body, *maker.lines]) + "\n"


def with_changes(text, pick):
    """Return a program with lists read and changed here and there, at public and at private places."""
    lines = text.split("\n")
    begun = next(n for n, line in enumerate(lines) if "r := []" in line)
    private = "x" if "(x : private {" in text else "s"
    for _ in range(pick.randint(1, 3)):
        place = pick.randrange(begun + 1, len(lines) - 1)
        indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
        if lines[place].lstrip().startswith("else"):
            continue
        spot = pick.choice(["0", "0", "size(r) - 1", private])
        put = pick.choice(["0", "7", "s", "w", "r[0] + 1", "2 * r[0]", "s - r[0]", f"r[0] + {private}"])
        guard = f"size(r) > 0 and {spot} >= 0 and {spot} < size(r)"
        change = pick.choice([f"r[{spot}] := {put}", f"r[{spot}] := {put}", f"w := w + r[{spot}]"])
        lines[place:place] = [f"{indent}if {guard} then", f"{indent}  {change}"]
    if pick.random() < 0.7:
        last = max(n for n, line in enumerate(lines) if line.startswith("  return"))
        lines[last] = pick.choice(["  return r", "  return r", "  return w", "  return (r, w)"])
    return "\n".join(lines)


def mutants(text, pick, count):
    """Yield programs that differ from a text in one small way."""
    lines = text.split("\n")
    for _ in range(count):
        changed = list(lines)
        kind, place = pick.randrange(7), pick.randrange(len(lines))
        spots = [n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")]
        place = pick.choice(spots[1:])
        line = changed[place]
        if kind == 0:
            changed[place] = re.sub(
                r"\b\d+\b", lambda m: pick.choice(["0", "1", "2", "3", "4"]), line, count=1
            )
        elif kind == 1:
            changed[place] = re.sub(
                r"(?<= )(<=|>=|<|>|\+|-|\*)(?= )", lambda m: OPPOSITE[m[1]], line, count=1
            )
        elif kind == 2 and ":=" in line:
            del changed[place]
        elif kind == 3:
            other = pick.choice(spots[1:])
            changed[place], changed[other] = changed[other], changed[place]
        elif kind == 4:
            changed[place] = re.sub(
                r"\b(one|all|monotone|replace)\b", pick.choice(["one", "all", "monotone"]), line
            )
        elif kind == 5:
            names = re.findall(r"\b[a-zA-Z]\w*\b(?=\s*:=)", text)
            if names:
                changed[place] = re.sub(
                    rf"\b{pick.choice(names)}\b(?!\s*:=)", pick.choice(names), line, count=1
                )
        else:
            changed[place] = re.sub(r"\$ (\w+)\(", lambda m: f"$ {m[1]}((1/2)*", line, count=1)
        mutant = "\n".join(changed)
        if mutant != text:
            yield mutant

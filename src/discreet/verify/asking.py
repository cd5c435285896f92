"""One question to cvc5, in a process of its own: a script on standard input, an answer on standard output."""

import sys
from importlib import import_module


def answer(text: str, options: list[str]) -> str:
    """Return what cvc5 answers to an SMT-LIB script."""
    cvc5 = import_module("cvc5")
    solver = cvc5.Solver()
    for option in options:
        solver.setOption(option, "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    symbols, found = parser.getSymbolManager(), ""
    while not (command := parser.nextCommand()).isNull():
        found = command.invoke(solver, symbols).strip() or found
    return found


if __name__ == "__main__":
    print(answer(sys.stdin.read(), sys.argv[1:]))

"""Running a program once, on inputs that its header allows."""

from collections.abc import Mapping

from discreet.errors import ParameterError
from discreet.exact.number import rational
from discreet.verify.check import CheckedProgram, parse
from discreet.verify.relate import require_valid
from discreet.verify.rows import column
from discreet.verify.run import ExactDraws, Machine, Value, execute
from discreet.verify.syntax import Array, Scalar, SensitiveQuery


def inputs(checked: CheckedProgram, given: Mapping[str, Value]) -> dict[str, Value]:
    """Check that every parameter is given, and turn numbers into rationals."""
    values: dict[str, Value] = {}
    given = by_columns(checked, given)
    for parameter in checked.program.parameters:
        if parameter.name not in given:
            raise ParameterError(f"the program needs a value for {parameter.name}")
        value = given[parameter.name]
        match parameter.type:
            case Array(element):
                values[parameter.name] = [_number(v, element, parameter.name) for v in value]
            case Scalar():
                values[parameter.name] = _number(value, parameter.type, parameter.name)
            case SensitiveQuery():
                if not callable(value):
                    raise ParameterError(f"{parameter.name} must be a function of the data")
                values[parameter.name] = value
    unknown = sorted(set(given) - set(values))
    if unknown:
        raise ParameterError(f"the program has no parameter {unknown[0]}")
    return values


def by_columns(checked: CheckedProgram, given: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values with each list of rows taken apart into its columns."""
    found = dict(given)
    for name, width in checked.program.tables:
        if name in found:
            rows = [tuple(row) for row in found.pop(name)]
            if any(len(row) != width for row in rows):
                raise ParameterError(f"every row of {name} must have {width} entries")
            found |= {column(name, number): [row[number] for row in rows] for number in range(width)}
    return found


def _number(value: Value, kind: Scalar, name: str) -> Value:
    if kind.kind == "bool":
        return bool(value)
    if kind.kind == "bits":
        return int(value)
    number = rational(value, name)
    if kind.kind == "int":
        if number.denominator != 1:
            raise ParameterError(f"{name} must be an integer")
        return int(number)
    return number


def run(program: CheckedProgram | str, machine: Machine | None = None, **given: Value) -> Value:
    """Execute a program once with exact secure noise; a single returned value comes back bare."""
    checked = parse(program) if isinstance(program, str) else program
    values = inputs(checked, given)
    require_valid(checked, values)
    result = execute(checked, values, machine or ExactDraws())
    return result[0] if len(result) == 1 else result

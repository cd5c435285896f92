"""Formulas of certificates are told in the usual notation."""

import pytest

from discreet.verify.explain import infix


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("(<= (+ c (* (- 1) d)) 0)", "c - d <= 0"),
        ("(not (<= i (- 1)))", "i > -1"),
        ("(let ((a!1 (+ x 1))) (or (> a!1 0) (= y 2.0)))", "(x + 1 > 0) or (y = 2)"),
        ("(let ((a!1 (+ x 1))) (let ((a!2 (* 2 a!1))) (>= a!2 0)))", "2 * (x + 1) >= 0"),
        ("(- (+ x 1))", "-(x + 1)"),
        ("(=> true (< |c{1}| 3))", "c{1} < 3"),
        ("(not (= x 1))", "not (x = 1)"),
    ],
)
def test_a_formula_is_told_as_people_write_it(script, told):
    assert infix(script) == told

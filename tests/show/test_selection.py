"""Pictures of selections show their exact laws."""

from fractions import Fraction

import pytest

from discreet.mechanisms.exponential import Exponential, Levels
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.threshold import NoisyThreshold, Threshold
from discreet.show import channel, choice_portrait, choices, detection, keeping, landscape, shortfalls
from discreet.show.save import svg

CHOICE = Exponential.calibrate(epsilon=1)


def test_the_bars_are_the_probabilities():
    rows = choices(CHOICE, [3, 1, 0], [2, 2, 1]).to_dict()["data"]["values"]
    assert [row["y"] for row in rows] == [float(p) for p in (*CHOICE.pmf([3, 1, 0]), *CHOICE.pmf([2, 2, 1]))]


def test_names_label_the_candidates():
    rows = choices(CHOICE, [3, 1], [2, 2], names=["brown", "blue"]).to_dict()["data"]["values"]
    assert [row["x"] for row in rows] == ["brown", "blue"] * 2


def test_shortfalls_are_the_mechanisms_own():
    flip = PermuteAndFlip(CHOICE.alpha)
    rows = shortfalls({"exponential": CHOICE, "flip": flip}, candidates=5).to_dict()["data"]["values"]
    at = {(row["series"], row["x"]): row["y"] for row in rows}
    assert at["exponential", 0.01] == CHOICE.shortfall("0.01", candidates=5)
    assert at["flip", 0.01] == flip.shortfall("0.01", candidates=5) < at["exponential", 0.01]
    halves = shortfalls({"exponential": CHOICE}, candidates=5, unit=2).to_dict()["data"]["values"]
    assert [2 * row["y"] for row in halves] == [row["y"] for row in rows if row["series"] == "exponential"]


def test_the_channel_is_drawn_cell_by_cell():
    response = RandomizedResponse(Fraction(3), 3)
    rows = channel(response).to_dict()["data"]["values"]
    assert len(rows) == 9
    assert {(row["y"], row["x"]): row["value"] for row in rows}["1", "1"] == pytest.approx(0.6)


def test_keeping_starts_at_nothing_and_ends_at_certainty():
    best, noisy = (kind.calibrate(epsilon=1, delta="1e-4") for kind in (Threshold, NoisyThreshold))
    rows = keeping({"best": best, "noisy": noisy}).to_dict()["data"]["values"]
    mine = [row["y"] for row in rows if row["series"] == "best"]
    assert mine[0] == 0
    assert mine[-1] == 1
    assert mine[1] == pytest.approx(1e-4)


def test_detection_rises_from_rarely_to_nearly_always():
    rows = detection(SparseVector.calibrate(epsilon=1)).to_dict()["data"]["values"]
    heights = [row["y"] for row in rows]
    assert heights == sorted(heights)
    assert heights[0] < 0.01 < 0.99 < heights[-1]


def test_a_choice_portrait_can_be_drawn():
    picture = svg(choice_portrait(CHOICE, [3, 1, 0], [2, 2, 1], epsilon=1.0, title="Exponential"))
    assert "scores 3, 1, 0" in picture


def test_a_landscape_shows_the_score_and_the_chance_of_every_candidate_in_order():
    """Level i of a range: its two ends carry its score and its probability shared among its members."""
    levels = Levels.of([4, 9, 0], [3, 1, 2])
    above, below = landscape({"one": CHOICE}, levels, grid=Fraction(1, 10)).to_dict()["vconcat"]
    scores, chances = (part["data"]["values"] for part in (above, below))
    places = [0.0, 0.2, 0.3, 0.4, 0.5]
    assert [row["x"] for row in scores] == [row["x"] for row in chances] == pytest.approx(places)
    assert [row["y"] for row in scores] == pytest.approx([0.4, 0.4, 0.9, 0, 0])
    law = CHOICE.pmf([4, 4, 4, 9, 0, 0])
    assert [row["y"] for row in chances] == pytest.approx([float(law[i]) for i in (0, 2, 3, 4, 5)])

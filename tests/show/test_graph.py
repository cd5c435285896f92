"""Pictures of graphs place every dot and draw every line."""

from math import dist

import pytest

from discreet.errors import ParameterError
from discreet.show import network, networks
from discreet.show.save import svg


def dots_and_lines(chart):
    layers = [layer["data"]["values"] for layer in chart.to_dict()["layer"]]
    return layers[-1], layers[0] if len(layers) == 3 else []


def test_a_path_lies_in_a_row_and_everything_else_in_a_ring():
    dots, lines = dots_and_lines(network("abcd", [(0, 1), (1, 2), (2, 3)]))
    assert [dot["y"] for dot in dots] == [0] * 4
    assert [dot["x"] for dot in dots] == sorted(dot["x"] for dot in dots)
    assert len(lines) == 3
    dots, lines = dots_and_lines(network(range(5), [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]))
    assert [dist((dot["x"], dot["y"]), (0, 0)) for dot in dots] == pytest.approx([1] * 5)
    # Neighbours on a cycle are equally far apart.
    lengths = [dist((line["x"], line["y"]), (line["x2"], line["y2"])) for line in lines]
    assert lengths == pytest.approx([lengths[0]] * 5)


def test_a_dot_alone_is_a_graph_and_nothing_is_not():
    dots, lines = dots_and_lines(network(["only"], []))
    assert (dots[0]["name"], lines) == ("only", [])
    for labels, edges in (([], []), (["a"], [(0, 1)])):
        with pytest.raises(ParameterError, match="dot"):
            network(labels, edges)
    with pytest.raises(ParameterError, match="at least one graph"):
        networks({})


def test_dots_grow_with_their_names():
    sizes = [
        network([name, "b"], [(0, 1)]).to_dict()["layer"][1]["mark"]["size"] for name in ("a", "a long name")
    ]
    assert sizes[0] < sizes[1]


def test_graphs_stand_side_by_side_under_their_names():
    row = networks(
        {"path": (range(2), [(0, 1)]), "ring": (range(3), [(0, 1), (1, 2), (0, 2)])}, good=["path"]
    )
    assert len(row.to_dict()["hconcat"]) == 2
    picture = svg(row)
    assert "path" in picture
    assert "ring" in picture
    colours = [part["title"]["color"] for part in row.to_dict()["hconcat"]]
    assert colours[0] != colours[1]

"""Optimal mechanisms: certified, against plain linear programming in two formulations.

Run with `python -m benchmarks.utility [section ...]`: single, many.
"""

import gc
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import exp
from time import perf_counter, process_time

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from scipy import sparse
from scipy.optimize import linprog

from discreet.mechanisms.table import Table
from discreet.utility import Graph, Loss, Prior, band, check, optimal, path


def random_question(n: int, seed: int = 1) -> tuple[Prior, Loss]:
    generator = np.random.default_rng(seed)
    prior = Prior.proportional(generator.integers(1, 1000, n + 1).tolist())
    return prior, Loss.of(generator.integers(0, 1000, (n + 1, n + 1)).tolist())


def plain_program(
    size: int, pairs: list[tuple[int, int, float]], prior: Prior, loss: Loss, method: str
) -> tuple[float, np.ndarray]:
    """All entries of the channel as variables, one constraint per pair and output."""
    width = len(loss.guesses)
    one = sparse.identity(width)
    count = len(pairs)
    starts = sparse.csr_matrix((np.ones(count), (range(count), [i for i, _, _ in pairs])), (count, size))
    ends = sparse.csr_matrix(
        ([r for _, _, r in pairs], (range(count), [j for _, j, _ in pairs])), (count, size)
    )
    cost = np.array(
        [
            [float(p) * c / loss.denominator for c in row]
            for p, row in zip(prior.weights, zip(*loss.numerators, strict=True), strict=True)
        ]
    )
    result = linprog(
        cost.ravel(),
        A_ub=sparse.kron(starts - ends, one).tocsr(),
        b_ub=np.zeros(count * width),
        A_eq=sparse.kron(sparse.identity(size), np.ones((1, width))).tocsr(),
        b_eq=np.ones(size),
        bounds=(0, None),
        method=method,
    )
    return float(result.fun), result.x.reshape(size, width)


def cycle(n: int) -> Graph:
    return Graph.of(range(n), [(k, (k + 1) % n) for k in range(n)])


def tangled(n: int, degree: int = 3) -> Graph:
    """A connected graph of random edges."""
    generator = np.random.default_rng(1)
    order = generator.permutation(n).tolist()
    edges = {(min(a, b), max(a, b)) for a, b in pairwise(order)}
    while len(edges) < degree * n // 2:
        a, b = sorted(generator.integers(0, n, 2).tolist())
        if a != b:
            edges.add((a, b))
    return Graph.of(range(n), sorted(edges))


def whole_program(graph: Graph, prior: Prior | None, loss: Loss, epsilon: float) -> float:
    """The plain program as anybody would write it, for a prior or for the worst case."""
    size, costs = len(graph), np.array(loss.numerators, dtype=float) / loss.denominator
    width = len(costs)
    pairs = [pair for i, j in graph.edges for pair in ((i, j), (j, i))]
    count = len(pairs)
    one = sparse.csr_matrix((np.ones(count), (range(count), [i for i, _ in pairs])), (count, size))
    other = sparse.csr_matrix(
        (np.full(count, exp(epsilon)), (range(count), [j for _, j in pairs])), (count, size)
    )
    near = sparse.kron(one - other, sparse.identity(width))
    sums = sparse.kron(sparse.identity(size), np.ones((1, width)))
    free: list[tuple[float | None, float | None]] = [(0, None)] * (size * width)
    if prior is not None:
        cost = (np.array([float(p) for p in prior.weights])[:, None] * costs.T).ravel()
        zero = np.zeros(count * width)
        return float(
            linprog(
                cost, A_ub=near.tocsr(), b_ub=zero, A_eq=sums.tocsr(), b_eq=np.ones(size), bounds=free
            ).fun
        )
    lost = sparse.hstack([sparse.block_diag([row[None, :] for row in costs.T]), -np.ones((size, 1))])
    upper = sparse.vstack([sparse.hstack([near, sparse.csr_matrix((count * width, 1))]), lost])
    total = sparse.hstack([sums, sparse.csr_matrix((size, 1))])
    cost = np.append(np.zeros(size * width), 1.0)
    bounds = [*free, (None, None)]
    zero = np.zeros(count * width + size)
    return float(
        linprog(
            cost, A_ub=upper.tocsr(), b_ub=zero, A_eq=total.tocsr(), b_eq=np.ones(size), bounds=bounds
        ).fun
    )


def leaked_delta(entries: np.ndarray, graph: Graph, epsilon: Fraction) -> float:
    """How far a float answer, rounded to rows that sum to one, is from pure privacy."""
    positive = [[max(Fraction(0), Fraction(float(p))) for p in row] for row in entries]
    rows = [[p / sum(row) for p in row] for row in positive]
    return float(Table.of(rows, neighbours=graph.edges).delta(epsilon).high)


def lattice(rows: int, columns: int) -> Graph:
    cells = [(i, j) for i in range(rows) for j in range(columns)]
    near = [(a, b) for a, b in combinations(cells, 2) if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1]
    return Graph.of(range(len(cells)), [(cells.index(a), cells.index(b)) for a, b in near])


def cube(dimension: int) -> Graph:
    pairs = combinations(range(2**dimension), 2)
    return Graph.of(range(2**dimension), [(a, b) for a, b in pairs if (a ^ b).bit_count() == 1])


def graphs() -> Iterator[tuple[str, Graph]]:
    for n in (8, 16, 30):
        yield f"path {n}", path(n - 1)
        yield f"cycle {n}", cycle(n)
        yield f"random {n}", tangled(n)
        yield f"dense {n}", tangled(n, 5 if n == 8 else 6)
    for rows, columns in ((2, 4), (4, 4), (5, 6)):
        yield f"grid {rows} x {columns}", lattice(rows, columns)
    for n in (2, 3, 4):
        yield f"cube {n}", cube(n)
    for n in (6, 12, 20):
        yield f"complete {n}", Graph.of(range(n), list(combinations(range(n), 2)))


def losses(n: int) -> Iterator[tuple[str, Loss]]:
    yield "absolute", Loss.absolute(range(n))
    yield "squared", Loss.squared(range(n))
    yield "zero-one", Loss.of([[int(i != j) for j in range(n)] for i in range(n)])
    yield "random", Loss.of(np.random.default_rng(n).integers(0, 1000, (n, n)).tolist())


def bare_program(graph: Graph, prior: Prior | None, loss: Loss, epsilon: float) -> float:
    """The same program as `whole_program`, handed to the solver without SciPy between them."""
    import highspy

    size, costs = len(graph), np.array(loss.numerators, dtype=float) / loss.denominator
    width, infinity = len(costs), highspy.kHighsInf
    edges = np.array(graph.edges)
    pairs = np.concatenate([edges, edges[:, ::-1]])
    near = (pairs[:, None, :] * width + np.arange(width)[None, :, None]).reshape(-1, 2)
    cells = np.arange(size * width).reshape(size, width)
    low, high = [np.full(len(near), -infinity), np.ones(size)], [np.zeros(len(near)), np.ones(size)]
    places = [near, cells]
    entries = [np.tile([1.0, -exp(epsilon)], (len(near), 1)), np.ones(cells.shape)]
    least = np.zeros(cells.size)
    if prior is None:
        places.append(np.hstack([cells, np.full((size, 1), cells.size)]))
        entries.append(np.hstack([costs.T, -np.ones((size, 1))]))
        low.append(np.full(size, -infinity))
        high.append(np.zeros(size))
        price, least = np.append(least, 1.0), np.append(least, -infinity)
    else:
        price = (np.array([float(p) for p in prior.weights])[:, None] * costs.T).ravel()
    lengths = np.concatenate([np.full(len(part), part.shape[1]) for part in places])
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(price), len(lengths)
    program.col_cost_, program.col_lower_ = price, least
    program.col_upper_ = np.full(len(price), infinity)
    program.row_lower_, program.row_upper_ = np.concatenate(low), np.concatenate(high)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.append(0, np.cumsum(lengths)).astype(np.int32)
    program.a_matrix_.index_ = np.concatenate([part.ravel() for part in places]).astype(np.int32)
    program.a_matrix_.value_ = np.concatenate([part.ravel() for part in entries])
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.passModel(program)
    model.run()
    return float(model.getInfo().objective_function_value)


def many(runs: int = 3) -> None:
    """672 small questions: ours with its proof, and plain HiGHS through SciPy and by itself, in turn."""
    console, rows = Console(width=150), []
    questions = product(graphs(), range(4), ("0.1", "0.5", "1", "2"), (False, True))
    for (name, graph), kind, epsilon, worst in questions:
        n = len(graph)
        called, loss = list(losses(n))[kind]
        weights = np.random.default_rng(n + 1).integers(1, 1000, n).tolist()
        prior = None if worst else Prior.proportional(weights)
        took: tuple[list[float], ...] = ([], [], [])
        for _ in range(runs):
            gc.collect()
            marks = [process_time()]
            best = optimal(graph, prior, loss, epsilon)
            marks.append(process_time())
            value = whole_program(graph, prior, loss, float(epsilon))
            marks.append(process_time())
            bare_program(graph, prior, loss, float(epsilon))
            marks.append(process_time())
            for spent, (start, end) in zip(took, pairwise(marks), strict=True):
                spent.append(end - start)
        if abs(float(best.loss) - value) > 1e-4 * value + 1e-5 or best.gap > loss.span / 10**8:
            raise ValueError(f"{name}, {called}, epsilon {epsilon}: the answers differ or lack a proof")
        aim = "worst case" if worst else "prior"
        rows.append((f"{name}, {called}, epsilon {epsilon}, {aim}", *map(min, took)))
    for rival, place in (("HiGHS through SciPy", 2), ("HiGHS by itself", 3)):
        ratios = np.array([row[1] / row[place] for row in rows])
        console.print(
            f"{rival}: {len(rows)} questions, median {np.median(ratios):.2f} of its time, all together "
            f"{sum(row[1] for row in rows) / sum(row[place] for row in rows):.2f}, "
            f"{(ratios <= 1).sum()} take no longer, {(ratios > 1.1).sum()} more than 1.1 times"
        )
        long = np.array([row[place] >= 0.01 for row in rows])
        console.print(
            f"  of the {long.sum()} that take it 10 ms: {(ratios[long] > 1.1).sum()} more than 1.1 times"
        )
        for ratio, row in sorted(zip(ratios, rows, strict=True), key=lambda one: -one[0]):
            if ratio > 1.1 and (place == 2 or row[place] >= 0.01):
                console.print(f"    {ratio:.2f}: {row[0]} ({row[1] * 1e3:.1f} ms for {row[place] * 1e3:.1f})")


def single() -> None:
    """Single questions, larger ones among them."""
    console = Console()
    grid = Grid(
        "question", "solver", "wall s", "cpu s", "loss", "gap", "delta at epsilon", title="Optimal mechanisms"
    )

    def ours(name: str, graph: Graph, prior: Prior | None, loss: Loss, epsilon: str) -> None:
        wall, cpu = perf_counter(), process_time()
        best = optimal(graph, prior, loss, epsilon)
        wall, cpu = perf_counter() - wall, process_time() - cpu
        grid.add_row(
            name, f"discreet: {best.method}", f"{wall:.2f}", f"{cpu:.2f}",
            f"{float(best.loss):.6f}", f"{float(best.gap):.1e}", "0 (proved)",
        )  # fmt: skip

    n = 1000
    prior, loss = Prior.uniform(n + 1), Loss.absolute(range(n + 1))
    ours("count, n=1000, |error|, eps 1", path(n), prior, loss, "1")
    ours("count, n=1000, error^2, eps 0.5", path(n), prior, Loss.squared(range(n + 1)), "0.5")
    for n, epsilon in ((100, "0.5"), (300, "1"), (300, "0.5")):
        prior, loss = random_question(n)
        ours(f"path, n={n}, random loss, eps {epsilon}", path(n), prior, loss, epsilon)
    for n, width, epsilon in ((20, 5, "1"), (30, 10, "2")):
        prior, loss = Prior.uniform(n + 1), Loss.absolute(range(n + 1))
        ours(f"sum, n={n}, width {width}, eps {epsilon}", band(n, width), prior, loss, epsilon)
    ours("worst case, n=30, |error|, eps 1", path(30), None, Loss.absolute(range(31)), "1")

    def rival(name: str, solver: str, n: int, epsilon: str, *, all_pairs: bool, method: str) -> None:
        prior, loss = random_question(n)
        e = float(epsilon)
        every = [(i, j, exp(e * abs(i - j))) for i in range(n + 1) for j in range(n + 1) if i != j]
        pairs = every if all_pairs else [one for one in every if abs(one[0] - one[1]) == 1]
        wall, cpu = perf_counter(), process_time()
        value, entries = plain_program(n + 1, pairs, prior, loss, method)
        wall, cpu = perf_counter() - wall, process_time() - cpu
        leak = leaked_delta(entries, path(n), Fraction(epsilon))
        grid.add_row(name, solver, f"{wall:.2f}", f"{cpu:.2f}", f"{value:.6f}", "-", f"{leak:.1e}")

    rival(
        "path, n=100, random loss, eps 0.5",
        "direct HiGHS (simplex)",
        100,
        "0.5",
        all_pairs=False,
        method="highs-ds",
    )
    rival(
        "path, n=100, random loss, eps 0.5",
        "direct HiGHS (interior)",
        100,
        "0.5",
        all_pairs=False,
        method="highs-ipm",
    )
    prior, loss = random_question(30)
    ours("path, n=30, random loss, eps 0.5", path(30), prior, loss, "0.5")
    rival(
        "path, n=30, random loss, eps 0.5",
        "all pairs (libqif's form)",
        30,
        "0.5",
        all_pairs=True,
        method="highs-ds",
    )
    for name, graph, worst in (("cycle of 40", cycle(40), True), ("random graph of 60", tangled(60), False)):
        size = len(graph)
        prior, loss = random_question(size - 1)
        ours(
            f"{name}, {'worst case' if worst else 'random prior'}, eps 0.5",
            graph,
            None if worst else prior,
            loss,
            "0.5",
        )
        cpu = process_time()
        value = whole_program(graph, None if worst else prior, loss, 0.5)
        grid.add_row(name, "direct HiGHS", "-", f"{process_time() - cpu:.2f}", f"{value:.6f}", "-", "unknown")
    console.print(grid)

    n = 1000
    best = optimal(path(n), Prior.uniform(n + 1), Loss.absolute(range(n + 1)), "1")
    start = process_time()
    check(best.certificate)
    console.print(
        f"checking the certificate of n=1000 alone: {process_time() - start:.2f} s of processor time"
    )


SECTIONS = {"single": single, "many": many}


def main() -> None:
    """Run the sections named on the command line, or all."""
    for name in sys.argv[1:] or SECTIONS:
        SECTIONS[name]()


if __name__ == "__main__":
    main()

"""What the five lectures say, item by item, and which test covers each item.

An item is a definition (D), a mechanism (M), a theorem (T), a worked number or example (W), a program (P), an
exercise or question (X), a remark (R), or a slip (S): something printed that is not so.  Slips are numbered
through all lectures.  Every test of the lectures names its items with `covers`, and `table` lists them all.
"""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple, TypeVar

Test = TypeVar("Test", bound=Callable[..., object])

LECTURES = {
    "000": ("laplace_and_exponential", "Laplace and exponential mechanisms"),
    "001": ("formal_methods", "Differential privacy for programs"),
    "002": ("laplace_noise", "Laplace noise for workloads of counts"),
    "003": ("exponential_and_properties", "Exponential mechanism and properties of privacy"),
    "004": ("utility", "Utility and optimal mechanisms"),
}
"""The lectures by number: the end of their test module's name, and their topic."""

KINDS = {
    "D": "definition",
    "M": "mechanism",
    "T": "theorem",
    "W": "worked number",
    "P": "program",
    "X": "exercise",
    "R": "remark",
    "S": "slip",
}

ITEMS = {
    # Laplace and exponential mechanisms; neighbours differ by the presence of one record.
    "000-D1": "the Laplace law: density, mean size b, tail exp(-t), variance 2 b**2",
    "000-D2": "the sensitivity of a quality score, the largest over candidates and neighbours",
    "000-D3": "the optimum of a score and the set of candidates that attain it",
    "000-D4": "the scores of all candidates as one vector, possibly |R| times as sensitive",
    "000-M1": "the Laplace mechanism: independent noise of scale Delta / epsilon on each coordinate",
    "000-M2": "the exponential mechanism: weight exp(epsilon q / 2 Delta), divided by the sum",
    "000-T1": "the Laplace mechanism is epsilon-private, by a chain of ratios, and no better",
    "000-T2": "the exponential mechanism is epsilon-private: two factors exp(epsilon / 2)",
    "000-T3": "accuracy of the exponential mechanism with |R| / |R_OPT|",
    "000-T4": "its corollary with |R| alone",
    "000-T5": "the expected quality of the selected candidate",
    "000-T6": "the error does not depend on the number of people",
    "000-T7": "the error grows with log |R| only",
    "000-W1": "subset sums: sensitivity 1 alone and k jointly; the error of k of them",
    "000-W2": "apples for four buyers: the four printed revenues",
    "000-W3": "the most common eye colour among five, wrong with probability at most exp(-3)",
    "000-W4": "the exponential mechanism on the prices of apples, computed",
    "000-R1": "exponentially large ranges, and how to sample from them",
    "000-S1": "E[Lap(1/epsilon)] is 0; its mean size is 1/epsilon",
    "000-S2": "the error of k sums is k/epsilon exactly, not o(k/epsilon)",
    "000-S3": "eye colours: 7.4 comes from a decimal logarithm; 9.22 is meant, and 8.67 is exact",
    "000-S4": "the corollary on the mean fails for small optima; a better one needs no assumption",
    "000-S5": "types: a score takes a candidate, the vector of scores has |R| entries, two factors",
    "000-S6": "the second best price is a tie of $1.00 and $4.00, and prices need a cap",
    "000-S7": "the guarantee is that at least OPT - 9.22/epsilon people share the colour",
    # Differential privacy for programs; neighbours differ in the value of one record.
    "001-D1": "probabilistic relational quadruples P => Q and their validity, for any P and Q",
    "001-D2": "couplings inside a relation",
    "001-D3": "the lifting of a relation to laws and to subdistributions",
    "001-D4": "reconstruction attacks, won at Hamming distance near 0, also under noise up to a threshold",
    "001-D5": "prior as posterior: learning nothing about one is learning nothing at all",
    "001-D6": "the distance between datasets, and adjacency as distance 1",
    "001-D7": "the privacy loss of an outcome",
    "001-D8": "(epsilon, delta)-privacy, over all events",
    "001-D9": "statistical distance and delta-indistinguishability",
    "001-D10": "epsilon-distance and its closed form",
    "001-D11": "(epsilon, delta)-indistinguishability",
    "001-D12": "privacy as a relational property of programs",
    "001-D13": "global sensitivity",
    "001-D14": "the Laplace law with a centre",
    "001-P1": "the one-time pad",
    "001-P2": "the mean without noise",
    "001-P3": "the mean with Laplace noise",
    "001-P4": "the Laplace mechanism, noise added",
    "001-P5": "the Laplace mechanism, noise centred: the same law",
    "001-P6": "running sums with noise on each prefix",
    "001-P7": "running sums with noise on each item",
    "001-T1": "the Laplace mechanism is (epsilon, 0)-private",
    "001-T2": "resilience to post-processing",
    "001-T3": "group privacy: exp(k epsilon)",
    "001-T4": "composition: epsilons and deltas add up",
    "001-T5": "privacy as a budget from which each release is subtracted",
    "001-T6": "parallel composition: the maximum, if the partition is independent of the data",
    "001-W1": "ten records of three bits: the cumulative values",
    "001-W2": "ten records of three bits: the marginals",
    "001-W3": "eight releases of epsilon make 8 epsilon, three make 3 epsilon",
    "001-W4": "the errors of the two running sums at the same privacy",
    "001-W5": "the errors of the cumulative values at total epsilon 1",
    "001-X1": "why resilience to post-processing matters: results may be published",
    "001-X2": "why group privacy matters: granularity",
    "001-X3": "why composition matters: a budget",
    "001-X4": "how accurate is the Laplace mechanism",
    "001-X5": "what noise makes a statistical query (epsilon, 0)-private",
    "001-S8": "the cumulative values need noise L(1/(10 epsilon)), and then cost 7 epsilon, not 8",
    "001-S9": "a loss of at most epsilon with probability 1 - delta is more than (epsilon, delta)-privacy",
    "001-S10": "b is the scale of the Laplace law; its skewness is 0",
    "001-S11": "parts chosen by value: replacing a record moves two of them, and costs the sum",
    "001-S12": "the mean divides by zero on the empty list, and has a sensitivity only for bounded data",
    # Laplace noise for workloads of counts; neighbours differ in the value of one record.
    "002-D1": "a normalised counting query",
    "002-D2": "a workload of k counting queries, with answers in [0, 1]**k",
    "002-D3": "l1 sensitivity",
    "002-D4": "the Laplace law on vectors",
    "002-M1": "k counting queries by k randomized responses at epsilon / k",
    "002-M2": "the Laplace noise mechanism",
    "002-M3": "the K-norm mechanism, which generalises it",
    "002-T1": "the k randomized responses are epsilon-private together",
    "002-T2": "k counting queries have sensitivity at most k/n, and exactly that of the worst pair",
    "002-T3": "a partition has sensitivity at most 2/n",
    "002-T4": "Laplace noise is epsilon-private, by the triangle inequality",
    "002-T5": "each coordinate is off by t or more with probability exp(-t/b)",
    "002-T6": "all k answers within alpha: how many records, by the union bound and exactly",
    "002-T7": "the same for a histogram",
    "002-W1": "records needed by randomized response, Laplace noise and histograms, for k = 1, 10, 100",
    "002-W2": "K-norm noise for all prefixes is noise on each item, summed up",
    "002-T8": "a bound on the ratio of densities at every point is one on the ratio for every event",
    "002-X1": "the details of randomized response for k queries",
    "002-S13": "the density of the noise has (epsilon / 2 Delta)**k in front",
    # Exponential mechanism and properties of privacy; neighbours differ by the presence of one record.
    "003-D1": "score sensitivity",
    "003-D2": "the exponential mechanism",
    "003-R1": "a good score gives better outcomes higher scores",
    "003-R2": "a good score tells a close second from a very bad outcome",
    "003-W1": "the most common eye colour: sensitivity 1",
    "003-W2": "the best price: sensitivity is the largest valuation, prices are discretised",
    "003-W3": "noise on the best price may bring no money at all",
    "003-T3": "the exponential mechanism is (epsilon, 0)-private",
    "003-T4": "its accuracy, in terms of t and of beta",
    "003-T5": "post-processing, deterministic and randomized",
    "003-T6": "group privacy with a delta",
    "003-T7": "basic composition",
    "003-W4": "a budget of epsilon for k mechanisms is epsilon/k each",
    "003-D3": "adaptive composition",
    "003-T8": "advanced composition",
    "003-T9": "its corollary: epsilon / sqrt(8 k ln(1/delta)) each",
    "003-S14": "the accuracy theorem has ln|R| + t, not ln(|R| + t)",
    "003-S15": "the proof of post-processing drops exp(epsilon) and delta",
    "003-S16": "k exp((k-1) epsilon) delta is valid for groups but not tight",
    "003-S17": "the proof of composition has exp(epsilon) for exp(k epsilon)",
    "003-S18": "basic composition is adaptive as well",
    "003-S19": "an adaptive mechanism has a range",
    "003-S20": "the second term of advanced composition is small for epsilon below 1/sqrt(k) only",
    "003-S21": "names of spaces and mechanisms in the examples",
    "003-S22": "the corollary does not follow from the theorem for large delta, holds anyway, and is loose",
    # Utility and optimal mechanisms; neighbours differ in one record.
    "004-D1": "oblivious mechanisms, and Laplacian noise with its normalisation epsilon / (2 Delta)",
    "004-D2": "the geometric mechanism",
    "004-D3": "truncated mechanisms",
    "004-D4": "databases, true answers, reports and guesses; remaps",
    "004-D5": "gain functions, distances, and gains that fall with distance",
    "004-D6": "expected gain at one database, oblivious and not",
    "004-D7": "utility: the expected gain of the best remap under a prior",
    "004-D8": "the identity gain: utility is the probability of guessing right, 1 minus the Bayes risk",
    "004-D9": "the gain D - distance",
    "004-D10": "optimal mechanisms by linear optimisation",
    "004-D11": "universally optimal mechanisms",
    "004-T1": "post-processing does not harm privacy",
    "004-T2": "truncation is post-processing",
    "004-T3": "the geometric mechanism is universally optimal for counting queries",
    "004-T4": "other query graphs have no universally optimal mechanism: two analysts exclude each other",
    "004-W1": "Laplacian noise at 10 and 20: densities and their ratio",
    "004-W2": "Gaussian noise is not private for any variance, but (epsilon, delta)-private",
    "004-W3": "sensitivity and epsilon decide how uniform the noise is",
    "004-W4": "the average age with at least 100 records, and without restriction",
    "004-W5": "a counting query has sensitivity 1; the geometric mechanism for two queries on diabetics",
    "004-W6": "the truncated geometric mechanism on [0, 100]",
    "004-X1": "Laplacian noise for a percentage of at least 1000 people",
    "004-X2": "its truncation to [0, 100]",
    "004-X3": "privacy is the same as exp(epsilon h) at Hamming distance h",
    "004-X4": "the utility of the geometric mechanism: uniform prior, identity gain",
    "004-X5": "the same with the gain D - distance",
    "004-X6": "mechanisms of the same privacy and lower utility",
    "004-X7": "post-processing can decrease utility",
    "004-S23": "the last density of the example lacks a minus sign",
    "004-S24": "in the Gaussian formula epsilon belongs into the exponent",
    "004-S25": "utility averages over databases and maximises over remaps",
    "004-S26": "with the gain D - distance, utility is D minus the expected distance",
    "004-S27": "the normalisation (1 - a) / (1 + a) is for all integers only; the graph is that of answers",
    "004-S28": "universal optimality needs a loss that grows with distance and a user who remaps",
}
"""Every item of the lectures, in the order of the lectures."""


class Row(NamedTuple):
    """One line of the table: an item and the tests that cover it."""

    item: str
    lecture: str
    kind: str
    title: str
    tests: tuple[str, ...]


def covers(*items: str) -> Callable[[Test], Test]:
    """Say which items of the lectures a test covers."""
    unknown = [item for item in items if item not in ITEMS]
    if unknown or not items:
        raise ValueError(f"not an item of the lectures: {unknown or 'nothing'}")

    def mark(test: Test) -> Test:
        test.lecture_items = items  # type: ignore[attr-defined]
        return test

    return mark


def modules() -> dict[str, str]:
    """Return the name of each lecture's test module."""
    return {number: f"tests.seeds.test_{number}_{name}" for number, (name, _) in LECTURES.items()}


def table() -> list[Row]:
    """Return every item of the lectures with the names of the tests that cover it."""
    found: dict[str, list[str]] = {item: [] for item in ITEMS}
    for module in modules().values():
        for name, test in vars(import_module(module)).items():
            if name.startswith("test_"):
                for item in getattr(test, "lecture_items", ()):
                    found[item].append(f"{module.rsplit('.', 1)[1]}::{name}")
    return [
        Row(item, LECTURES[item[:3]][1], KINDS[item[4]], title, tuple(found[item]))
        for item, title in ITEMS.items()
    ]


def as_markdown(rows: list[Row] | None = None) -> str:
    """Return the table as Markdown: item, kind, what it says, and how many tests cover it."""
    lines = ["| item | kind | what the lectures say | tests |", "|---|---|---|---|"]
    lines += [
        f"| {row.item} | {row.kind} | {row.title.replace('|', chr(92) + '|')} | {len(row.tests)} |"
        for row in (table() if rows is None else rows)
    ]
    return "\n".join(lines)

"""The accountant against Google's dp_accounting and Microsoft's prv_accountant, on the same compositions.

Each row gives epsilon at delta: ours as [low, high], proved; theirs as they report it.  Times are the best
of three for us (with nothing kept from one run to the next) and one run for the peers, whose grids are at
their defaults (dp_accounting) or at an error of 0.01 in epsilon (prv_accountant).  Random mixtures are
measured in processor time, the best of three for both, and compared with dp_accounting one by one.
"""

import json
import math
import random
import statistics
import subprocess
import time
from fractions import Fraction

from benchmarks.peer import ask

PATIENCE = 30

ROWS = {
    "1,000 Laplace 0.1": ([("laplace", "0.1", 1000)], "1e-6"),
    "1,000 Gaussian 20": ([("gaussian", "20", 1000)], "1e-6"),
    "500 Laplace 0.05 + 500 Gaussian 30 + 100 pure 0.1": (
        [("laplace", "0.05", 500), ("gaussian", "30", 500), ("pure", "0.1", 100)],
        "1e-6",
    ),
    "100,000 Laplace 0.01": ([("laplace", "0.01", 100_000)], "1e-6"),
    "100,000 Gaussian 100": ([("gaussian", "100", 100_000)], "1e-6"),
    "100,000 pure 0.01": ([("pure", "0.01", 100_000)], "1e-6"),
    "200 different Laplace": ([("laplace", f"0.{n:04d}", 1) for n in range(100, 300)], "1e-6"),
    "300 different pure": ([("pure", f"0.{n:04d}17", 1) for n in range(300, 600)], "1e-6"),
    "100 pure 1": ([("pure", "1", 100)], "1e-6"),
    "10,000 Gaussian 1.1, sampled at 1 %": ([("gaussian@0.01", "1.1", 10_000)], "1e-5"),
    "500 Laplace 0.5, sampled at 5 %": ([("laplace@0.05", "0.5", 500)], "1e-5"),
    "1,000 pure 0.1 at delta 1e-30": ([("pure", "0.1", 1000)], "1e-30"),
    "1,000 Laplace 0.1 at delta 1e-100": ([("laplace", "0.1", 1000)], "1e-100"),
}


MIXTURES = 200
KINDS = ("laplace", "geometric", "gaussian", "response", "pure", "approximate")


def mixture(rng):
    """Up to 100,000 releases of up to four kinds and 120 different prices, of which the whole costs a few."""
    kinds, apart, total = rng.randint(1, 4), rng.choice((1, 1, 1, 3, 30)), 10 ** rng.uniform(0, 5)
    price, parts = rng.choice((0.3, 1, 3)), []
    for kind in rng.choices(KINDS, k=kinds):
        for _ in range(apart):
            n = max(1, int(total) // (kinds * apart))
            cost = max(price / math.sqrt(n * kinds * apart) * rng.uniform(0.3, 1.5), 1e-4)
            parts.append((kind, f"{1 / cost:.6f}" if kind == "gaussian" else f"{cost:.6f}", n))
    return parts


def forget():
    from discreet.privacy import direction, route, zcdp

    kept = (route.tight_epsilon, route.tight_delta, route.loss_sum, route.whole, zcdp.epsilon_of_rho)
    for function in (*kept, direction._meshed, direction._mesh):
        function.cache_clear()


def ours(parts, delta, clock=time.perf_counter):
    from discreet.privacy.amplify import sampled
    from discreet.privacy.compose import compose
    from discreet.privacy.guarantee import Approximate, Profile, Pure
    from discreet.privacy.loss import GaussianLoss, GeometricLoss, LaplaceLoss, ResponseLoss

    make = {
        "laplace": lambda number: Profile(LaplaceLoss(number)),
        "gaussian": lambda number: Profile(GaussianLoss(1 / number**2)),
        "geometric": lambda number: Profile(GeometricLoss(Fraction(f"{math.exp(-number):.9f}"), 1)),
        "response": lambda number: Profile(ResponseLoss(number)),
        "pure": Pure,
        "approximate": lambda number: Approximate(number, Fraction(1, 10**13)),
    }

    def release(kind, number):
        name, _, rate = kind.partition("@")
        whole = make[name](Fraction(number))
        return sampled(whole, rate) if rate else whole

    best = float("inf")
    for _ in range(3):
        forget()
        start = clock()
        bounds = compose([(release(kind, number), n) for kind, number, n in parts]).epsilon(delta)
        best = min(best, clock() - start)
    return bounds, best


def google(parts, delta, clock=time.perf_counter):
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    def promise(number, slack):
        return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(number, slack))

    make = {
        "laplace": lambda number, rate=1.0: pld.from_laplace_mechanism(1 / number, sampling_prob=rate),
        "gaussian": lambda number, rate=1.0: pld.from_gaussian_mechanism(number, sampling_prob=rate),
        "geometric": lambda number: pld.from_discrete_laplace_mechanism(number, 1),
        "response": lambda number: pld.from_randomized_response(2 / (1 + math.exp(number)), 2),
        "pure": lambda number: promise(number, 0),
        "approximate": lambda number: promise(number, 1e-13),
    }
    start = clock()
    whole = None
    for kind, number, n in parts:
        name, _, rate = kind.partition("@")
        law = make[name](float(number), *([float(rate)] if rate else [])).self_compose(n)
        whole = law if whole is None else whole.compose(law)
    epsilon = whole.get_epsilon_for_delta(float(delta))
    return epsilon, clock() - start


def mixtures(how_many=MIXTURES):
    """Yield, for random mixtures, our width, our seconds, theirs, and whether theirs is at least our low."""
    rng = random.Random(23)
    for _ in range(how_many):
        parts = mixture(rng)
        bounds, seconds = ours(parts, "1e-6", time.process_time)
        epsilon, theirs = google(parts, "1e-6", time.process_time)
        for _ in range(2 if theirs < 0.05 else 0):
            theirs = min(theirs, google(parts, "1e-6", time.process_time)[1])
        width = float(bounds.high - bounds.low) / max(float(bounds.low), 1e-9)
        yield width, seconds, theirs, epsilon >= float(bounds.low) * (1 - 1e-6)


def compared(rows):
    """Lines about mixtures: all of them, and those that take the peer longer than a millisecond."""
    for name, least in (("all", 0.0), ("where dp_accounting takes over 1 ms", 1e-3)):
        some = [row for row in rows if row[2] >= least]
        ratios = sorted(seconds / theirs for _, seconds, theirs, _ in some)
        yield (
            f"{len(some)} mixtures, {name}: our time over theirs is {statistics.median(ratios):.2f} in the "
            f"median, at most {ratios[-1]:.1f}, above 3 in {sum(ratio > 3 for ratio in ratios)}; we take at "
            f"most {max(row[1] for row in some):.3f} s, they {max(row[2] for row in some):.3f} s; our bounds "
            f"differ by at most {max(row[0] for row in some):.1e} of epsilon, and theirs is at least our "
            f"lower one in {sum(row[3] for row in some)}"
        )


def microsoft(name, parts, delta):
    asked = {name: ([(kind, float(number), n) for kind, number, n in parts], float(delta))}
    try:
        found = ask("prv", json.dumps(asked), timeout=PATIENCE).get(name, "not installed")
    except subprocess.TimeoutExpired:
        return f"more than {PATIENCE} s", "-"
    return (
        (found, "-") if isinstance(found, str) else (f"[{found[0]:.5g}, {found[2]:.5g}]", f"{found[3]:.3f}")
    )


def main() -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="epsilon at delta = 1e-6 unless said otherwise; seconds")
    for column in ("releases", "low", "high", "s", "dp_accounting", "s", "prv_accountant [low, high]", "s"):
        table.add_column(
            column, justify="left" if column == "releases" else "right", no_wrap=column != "releases"
        )
    for name, (parts, delta) in ROWS.items():
        bounds, seconds = ours(parts, delta)
        try:
            epsilon, their_seconds = google(parts, delta)
            peer = (f"{epsilon:.7g}", f"{their_seconds:.3f}")
        except Exception as error:
            peer = (type(error).__name__, "-")
        prv = microsoft(name, parts, delta)
        table.add_row(
            name, f"{float(bounds.low):.10g}", f"{float(bounds):.10g}", f"{seconds:.4f}", *peer, *prv
        )
    Console(width=160).print(table)
    for line in compared(list(mixtures())):
        print(line)


if __name__ == "__main__":
    main()

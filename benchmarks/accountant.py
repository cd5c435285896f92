"""The accountant against Google's dp_accounting and Microsoft's prv_accountant, on the same compositions.

Each row gives epsilon at delta: ours as [low, high], proved; theirs as they report it.  Times are the best
of three for us (with nothing kept from one run to the next) and one run for the peers, whose grids are at
their defaults (dp_accounting) or at an error of 0.01 in epsilon (prv_accountant).
"""

import json
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
    "100 pure 1": ([("pure", "1", 100)], "1e-6"),
    "10,000 Gaussian 1.1, sampled at 1 %": ([("gaussian@0.01", "1.1", 10_000)], "1e-5"),
    "500 Laplace 0.5, sampled at 5 %": ([("laplace@0.05", "0.5", 500)], "1e-5"),
    "1,000 pure 0.1 at delta 1e-30": ([("pure", "0.1", 1000)], "1e-30"),
    "1,000 Laplace 0.1 at delta 1e-100": ([("laplace", "0.1", 1000)], "1e-100"),
}


def ours(parts, delta):
    from discreet.privacy import direction, route, zcdp
    from discreet.privacy.amplify import sampled
    from discreet.privacy.compose import compose
    from discreet.privacy.guarantee import Profile, Pure
    from discreet.privacy.loss import GaussianLoss, LaplaceLoss

    make = {
        "laplace": lambda number: Profile(LaplaceLoss(number)),
        "gaussian": lambda number: Profile(GaussianLoss(1 / number**2)),
        "pure": Pure,
    }

    def release(kind, number):
        name, _, rate = kind.partition("@")
        whole = make[name](Fraction(number))
        return sampled(whole, rate) if rate else whole

    best = float("inf")
    for _ in range(3):
        kept = (
            route.tight_epsilon,
            route.tight_delta,
            route.loss_sum,
            zcdp.epsilon_of_rho,
            direction._meshed,
        )
        for function in kept:
            function.cache_clear()
        start = time.perf_counter()
        bounds = compose([(release(kind, number), n) for kind, number, n in parts]).epsilon(delta)
        best = min(best, time.perf_counter() - start)
    return bounds, best


def google(parts, delta):
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    make = {
        "laplace": lambda number, rate=1.0: pld.from_laplace_mechanism(1 / number, sampling_prob=rate),
        "gaussian": lambda number, rate=1.0: pld.from_gaussian_mechanism(number, sampling_prob=rate),
        "pure": lambda number: pld.from_privacy_parameters(common.DifferentialPrivacyParameters(number, 0)),
    }
    start = time.perf_counter()
    whole = None
    for kind, number, n in parts:
        name, _, rate = kind.partition("@")
        law = make[name](float(number), *([float(rate)] if rate else [])).self_compose(n)
        whole = law if whole is None else whole.compose(law)
    epsilon = whole.get_epsilon_for_delta(float(delta))
    return epsilon, time.perf_counter() - start


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


if __name__ == "__main__":
    main()

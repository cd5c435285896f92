"""prv_accountant on rows given as JSON: its numbers and its time; runs in the peers' environment."""

import json
import sys
import time


def main():
    rows = json.loads(sys.argv[1])
    try:
        from prv_accountant import (
            GaussianMechanism,
            LaplaceMechanism,
            PoissonSubsampledGaussianMechanism,
            PRVAccountant,
            PureDPMechanism,
        )
    except ImportError:
        print("{}")
        return
    kinds = {"laplace": LaplaceMechanism, "gaussian": GaussianMechanism, "pure": PureDPMechanism}
    found = {}
    for name, (parts, delta) in rows.items():
        start = time.perf_counter()
        try:
            laws = []
            for kind, number, _ in parts:
                law, _, rate = kind.partition("@")
                laws.append(
                    PoissonSubsampledGaussianMechanism(float(rate), number)
                    if rate and law == "gaussian"
                    else kinds[kind](number)
                )
            counts = [count for _, _, count in parts]
            accountant = PRVAccountant(
                laws, eps_error=0.01, delta_error=delta / 1000, max_self_compositions=counts
            )
            low, estimate, high = accountant.compute_epsilon(delta, counts)
            found[name] = [float(low), float(estimate), float(high), time.perf_counter() - start]
        except Exception as error:
            found[name] = f"{type(error).__name__}"
    print(json.dumps(found))


main()

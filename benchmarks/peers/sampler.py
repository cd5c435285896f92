"""Draws per second of the peers' samplers, one core; runs in the peers' environment and prints JSON."""

import json
import time


def rate(draw, count):
    draw(count // 10)
    start = time.perf_counter()
    draw(count)
    return count / (time.perf_counter() - start)


def main():
    found = {}
    try:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        square = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        for scale in (1, 10, 1000, 10**6):
            noise = dp.m.make_laplace(*space, scale=float(scale))
            found[f"OpenDP laplace {scale}"] = rate(lambda n, noise=noise: noise([0] * n), 50_000)
            bell = dp.m.make_gaussian(*square, scale=float(scale))
            found[f"OpenDP gaussian {scale}"] = rate(lambda n, bell=bell: bell([0] * n), 30_000)
        single = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=10.0)
        start = time.perf_counter()
        for _ in range(2000):
            single(0)
        found["OpenDP scalar us"] = (time.perf_counter() - start) / 2000 * 1e6
    except ImportError:
        pass
    try:
        from diffprivlib.mechanisms import Geometric

        for scale in (1, 10, 1000):
            noise = Geometric(epsilon=1 / scale)
            found[f"diffprivlib geometric {scale}"] = rate(
                lambda n, noise=noise: [noise.randomise(0) for _ in range(n)], 20_000
            )
    except ImportError:
        pass
    print(json.dumps(found))


if __name__ == "__main__":
    main()

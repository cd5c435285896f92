"""Programs of the usual shape, of which a test says only what is its own."""


def on_list(
    change: str,
    *body: str,
    of: str = "real",
    gives: str = "real",
    requires: str = "size(q) >= 1",
    claim: str = "epsilon eps",
) -> str:
    """Return a program about one private list `q` that neighbours `change`."""
    lines = [
        f"neighbours q {change}",
        *([f"requires {requires}"] if requires else []),
        f"ensures {claim}",
        *body,
    ]
    return f"\nP (q : private {of} list) : public {gives}\n" + "".join(f"  {line}\n" for line in lines)

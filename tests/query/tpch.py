"""A wholesaler made up at any scale: customers, orders, the items of these, and public tables around."""

from datetime import date

import numpy as np
import pyarrow

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (
    *(("ALGERIA", 0), ("BRAZIL", 1), ("CANADA", 1), ("CHINA", 2), ("FRANCE", 3), ("GERMANY", 3)),
    *(("INDIA", 2), ("JAPAN", 2), ("KENYA", 0), ("SAUDI ARABIA", 4)),
)
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
TYPES = ("ECONOMY ANODIZED STEEL", "PROMO BURNISHED TIN", "STANDARD PLATED COPPER")
BRANDS = ("Brand#12", "Brand#23", "Brand#45")
BOXES = ("SM CASE", "SM BOX", "MED BAG", "MED BOX", "LG CASE")
COLOURS = ("green ivory", "forest blue", "lemon rose", "dark green")
INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE")
REMARKS = ("quick", "special offers, requests", "silent deposits")
CODES = ("13", "31", "23", "29", "30", "18", "17", "11", "12")

Tables = dict[str, pyarrow.Table]
FIRST = np.datetime64(date(1992, 1, 1))


def generated(scale: float, seed: int = 1) -> Tables:
    """Return all tables; at scale 1 there are 150,000 customers, and two thirds of them order."""
    draw = np.random.default_rng(seed)
    customers, suppliers, parts = (max(int(n * scale), 30) for n in (150_000, 10_000, 200_000))
    return {
        **_public(draw, suppliers, parts),
        "customer": _customers(draw, customers),
        **_orders(draw, customers, suppliers, parts),
    }


def _text(draw: np.random.Generator, among: tuple[str, ...], size: int) -> pyarrow.Array:
    return pyarrow.DictionaryArray.from_arrays(
        draw.integers(0, len(among), size).astype("int32"), list(among)
    ).cast(pyarrow.string())


def _money(draw: np.random.Generator, low: float, high: float, size: int) -> np.ndarray:
    return np.round(draw.uniform(low, high, size), 2)


def _public(draw: np.random.Generator, suppliers: int, parts: int) -> Tables:
    stocked = np.repeat(np.arange(parts), 4)
    return {
        "region": pyarrow.table({"r_regionkey": range(len(REGIONS)), "r_name": list(REGIONS)}),
        "nation": pyarrow.table(
            {
                "n_nationkey": range(len(NATIONS)),
                "n_name": [name for name, _ in NATIONS],
                "n_regionkey": [region for _, region in NATIONS],
            }
        ),
        "supplier": pyarrow.table(
            {
                "s_suppkey": np.arange(suppliers),
                "s_name": [f"Supplier {n:06}" for n in range(suppliers)],
                "s_nationkey": np.arange(suppliers) % len(NATIONS),
                "s_acctbal": _money(draw, -999, 9999, suppliers),
            }
        ),
        "part": pyarrow.table(
            {
                "p_partkey": np.arange(parts),
                "p_name": _text(draw, COLOURS, parts),
                "p_brand": _text(draw, BRANDS, parts),
                "p_type": _text(draw, TYPES, parts),
                "p_size": draw.integers(1, 51, parts),
                "p_container": _text(draw, BOXES, parts),
            }
        ),
        "partsupp": pyarrow.table(
            {
                "ps_partkey": stocked,
                "ps_suppkey": (stocked + np.tile(np.arange(4), parts) * 7) % suppliers,
                "ps_availqty": draw.integers(1, 10_000, stocked.size),
                "ps_supplycost": _money(draw, 1, 1000, stocked.size),
            }
        ),
    }


def _customers(draw: np.random.Generator, count: int) -> pyarrow.Table:
    digits = draw.integers(10**7, 10**8, count)
    codes = _text(draw, CODES, count).to_pylist()
    return pyarrow.table(
        {
            "c_custkey": np.arange(count),
            "c_nationkey": draw.integers(0, len(NATIONS), count),
            "c_phone": [f"{code}-{number}" for code, number in zip(codes, digits, strict=True)],
            "c_acctbal": _money(draw, -999, 9999, count),
            "c_mktsegment": _text(draw, SEGMENTS, count),
        }
    )


def _orders(draw: np.random.Generator, customers: int, suppliers: int, parts: int) -> Tables:
    active = np.arange(customers)[np.arange(customers) % 3 != 0]
    who = np.repeat(active, draw.integers(1, 17, active.size))
    keys = draw.permutation(who.size * 4)[: who.size]
    days = draw.integers(0, 2_400, who.size)
    items = draw.integers(1, 8, who.size)
    ordered, ref = np.repeat(days, items), np.repeat(keys, items)
    size = ref.size
    shipped, promised = (ordered + draw.integers(1, reach, size) for reach in (122, 181))
    received, part = shipped + draw.integers(1, 31, size), draw.integers(0, parts, size)
    return {
        "orders": pyarrow.table(
            {
                "o_orderkey": keys,
                "o_custkey": who,
                "o_orderstatus": _text(draw, ("F", "O", "P"), who.size),
                "o_totalprice": _money(draw, 900, 550_000, who.size),
                "o_orderdate": FIRST + days,
                "o_orderpriority": _text(draw, PRIORITIES, who.size),
                "o_shippriority": np.zeros(who.size, dtype="int64"),
                "o_comment": _text(draw, REMARKS, who.size),
            }
        ),
        "lineitem": pyarrow.table(
            {
                "l_orderkey": ref,
                "l_partkey": part,
                "l_suppkey": (part + draw.integers(0, 4, size) * 7) % suppliers,
                "l_quantity": draw.integers(1, 51, size),
                "l_extendedprice": _money(draw, 900, 105_000, size),
                "l_discount": np.round(draw.integers(0, 11, size) / 100, 2),
                "l_tax": np.round(draw.integers(0, 9, size) / 100, 2),
                "l_returnflag": _text(draw, ("A", "N", "R"), size),
                "l_linestatus": _text(draw, ("F", "O"), size),
                "l_shipdate": FIRST + shipped,
                "l_commitdate": FIRST + promised,
                "l_receiptdate": FIRST + received,
                "l_shipinstruct": _text(draw, INSTRUCTIONS, size),
                "l_shipmode": _text(draw, MODES, size),
            }
        ),
    }

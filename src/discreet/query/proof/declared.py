"""What the checker is told: which tables hold people, and what is claimed about the integers of a statement.

These are the checker's own values.  Nothing here is computed by the planner: whoever asks for a proof writes
down the declarations of the curator and the numbers that the noise was calibrated for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.plan import Value as Constant


@dataclass(frozen=True, slots=True)
class Through:
    """Rows belong to the people of the rows of `table` whose column `key` equals their own `column`."""

    column: str
    table: str
    key: str


@dataclass(frozen=True, slots=True)
class TableDeclaration:
    """A stored table: its columns with their types, and whom its rows are about.

    `unit` is the column that identifies a person (None: every row is a person of its own, unless they belong
    to people `through` another table).  `kept` is the number of rows of one person that the table can hold
    because it was prepared so.  A `public` table is about nobody.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    unit: str | None = None
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    kept: int | None = None
    public: bool = False
    through: Through | None = None


@dataclass(frozen=True, slots=True)
class Declarations:
    """All stored tables."""

    tables: tuple[TableDeclaration, ...]

    def find(self, name: str) -> TableDeclaration | None:
        """Return the table of exactly this name."""
        return next((table for table in self.tables if table.name == name), None)


@dataclass(frozen=True, slots=True)
class Noised:
    """Additive noise calibrated for this sensitivity of all groups together."""

    output: str
    sensitivity: Sensitivity


@dataclass(frozen=True, slots=True)
class Reached:
    """A plan for overlapping groups, calibrated for cells that move by at most `reach` in l1.

    Theorem.  Every table that the plan measures is a histogram of one statement's cells, and all columns of
    the measured matrix A of such a table have the same norm.  If one person moves the cells of a statement
    by h with |h|_1 <= reach, then A h is a combination of columns with coefficients of total size `reach`,
    so its l1 and l2 norms are at most `reach` times a column's, table by table, and so are their sums.
    """

    output: str
    reach: int


@dataclass(frozen=True, slots=True)
class Swapped:
    """A plan for overlapping groups, calibrated for `each` units that are swapped for others.

    Theorem.  Under replace one person's integers v go and another's v' come, none of them negative, and
    |v|_1, |v'|_1 <= each.  So v' - v is a sum of `each` changes of the kinds e_i - e_j, e_i, -e_j and 0: pair
    the units of both as long as there are such, and leave the others alone.  If the measured A moves by at
    most c, in a norm, for each of these, it moves by at most `each` c in all.

    Where factors reach to both sides, up to P and down to -N, let B be the larger of both and the smaller at
    most `back` B.  With weights of sum at most n and n B <= each, v / each is a mean of 0, vectors e_i and
    vectors -back e_j (or of their negatives, if N is the larger), so (v - v') / each is a mean of differences
    of these: of e_i - e_j, e_i + back e_j, with i = j too, and shorter ones, up to a sign.  A norm of a mean
    is at most the largest of the norms, so the same holds with A (e_i + back e_j) besides.
    Needs: replace, weights that are not negative, factors no further to the other side than `back` says.
    """

    output: str
    each: int
    back: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Divided:
    """A split tree and the counts of its blocks, or of cells, calibrated for integers that move by `reach`.

    Theorem.  Let the mechanisms together lose at most c where one cell's integer moves by one.  If one person
    moves the integers of all declared groups by h with |h|_1 <= reach, they lose at most reach c: two vectors
    of integers so near are joined by at most `reach` steps of one in one cell, through vectors of integers,
    and what is lost adds up along them.
    Needs: declared groups, so that every cell is there whatever the data, and no other output beside them.
    """

    output: str
    reach: int


@dataclass(frozen=True, slots=True)
class Blended:
    """Several outputs of one statement with noise that is calibrated for how far all of them move together.

    `claimed` is their sensitivity; where groups overlap it is the l1 reach for which a plan of each output is
    calibrated, and the theorem of `Reached` holds with the outputs' cells side by side.
    """

    outputs: tuple[str, ...]
    claimed: Sensitivity | int


@dataclass(frozen=True, slots=True)
class SwappedAmong:
    """Plans for several outputs of one statement, calibrated for `each` units that are swapped among them.

    Theorem.  Under replace one person's integers v of all outputs go and another's v' come, none of them
    negative, and |v|_1, |v'|_1 <= each.  So v' - v is a sum of `each` changes, of a unit that leaves one cell
    of one output and one that comes into a cell of the same or of another, or of one of both alone.  Let A_o
    be what is measured of output o, in units of its noise, and let c bound all |A_o (e_i - e_j)|**2 and
    2 |A_o e_i|**2.  Units of one output move one of the vectors that are measured; units of two move two of
    them, whose squares add up to |A_o e_i|**2 + |A_p e_j|**2 <= c.  The norm of a sum is at most the sum of
    norms, so all that is measured moves by at most `each` times the root of c in l2.  In l1 the same holds
    with a c that bounds all 2 |A_o e_i|.
    Needs: replace, weights and factors that are not negative.
    """

    outputs: tuple[str, ...]
    each: int


@dataclass(frozen=True, slots=True)
class Kept:
    """A threshold on people, for which one person adds at most one to each of at most `groups` keys."""

    output: str
    groups: int


@dataclass(frozen=True, slots=True)
class KeptByWeight:
    """A threshold on weights, for which a person in m keys adds at most `weights[m - 1]` to each of them.

    Theorem.  Let Gaussian noise be calibrated for weights that move by at most `squares` in l2 squared, and
    let the threshold hide all of m new keys of weight `weights[m - 1]`, for every m, but for delta.  If a
    person with m >= 1 rows adds at most `weights[m - 1]` to the keys of them, each of which has one, and
    nobody has more rows than there are weights, then the keys and weights that are shown are as private as
    that: on keys that others have, the weights move by at most the largest m weights[m - 1]**2 in l2 squared
    (twice that where a person is replaced, because nothing is negative); on the others, no more is shown than
    of m new keys.
    Needs: keys that are found in the data; weights that are not negative.
    """

    output: str
    weights: tuple[int, ...]
    squares: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """A selection calibrated for scores that move by `moves`, summed over groups.

    With a `level` the candidates are the positions 0, ..., `size` - 1 of a grid and the scores those of a
    quantile; without, a score is a candidate's weight.  `monotone` claims that all scores move in one
    direction.
    """

    output: str
    moves: Fraction
    level: Fraction | None
    size: int
    monotone: bool = False


Release: TypeAlias = (
    Noised | Reached | Swapped | Divided | Blended | SwappedAmong | Kept | KeptByWeight | Chosen
)


def outputs_of(release: Release) -> tuple[str, ...]:
    """Return the outputs that a release is about."""
    return release.outputs if isinstance(release, Blended | SwappedAmong) else (release.output,)


Keys: TypeAlias = tuple[tuple[Constant, ...], ...] | None
"""The declared values of each group key (only their combinations leave), or None: found by a threshold."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed about one statement: which groups leave, and how each output is released."""

    keys: Keys
    releases: tuple[Release, ...]

    def __iter__(self) -> Iterator[Release]:
        return iter(self.releases)

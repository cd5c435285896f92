-- A person above the limit of rows counts with a smaller weight per row.
SELECT COUNT(*) FROM visits
-- becomes
WITH "person_rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"people" AS MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "person_rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum("p"."w") AS "m0"
FROM "person_rows" AS "r" JOIN "people" AS "p" ON ("r"."u" = "p"."u")


-- The weights depend on each person's rows among those the question selects.
SELECT ward, COUNT(*) FROM visits WHERE age >= 18 GROUP BY ward
-- becomes
WITH "person_rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0"
FROM "visits" AS "t0"
WHERE (("t0"."age" >= 18) AND (NOT ("t0"."patient_id" IS NULL)))
),
"people" AS MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "person_rows" AS "r"
WHERE ("r"."k0" IN ('A', 'B', 'C'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "person_rows" AS "r" JOIN "people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C'))


-- Sums carry the same weights.
SELECT ward, SUM(cost) FROM visits GROUP BY ward
-- becomes
WITH "person_rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0", CAST(CASE WHEN isfinite("t0"."cost") THEN CAST(least(greatest(floor("t0"."cost" * 100.0e0 + 0.5e0), 0.0e0), 500000.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"people" AS MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "person_rows" AS "r"
WHERE ("r"."k0" IN ('A', 'B', 'C'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m0"
FROM "person_rows" AS "r" JOIN "people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C'))


-- So do averages, and numerator and denominator agree.
SELECT AVG(temperature) FROM visits
-- becomes
WITH "person_rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN isfinite("t0"."temperature") THEN CAST(least(greatest(floor("t0"."temperature" * 1048576.0e0 + 0.5e0), 31457280.0e0), 47185920.0e0) AS BIGINT) END AS INTEGER) AS "a0", "t0"."temperature" AS "a1"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"people" AS MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "person_rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum((CAST(("r"."a0" - 39321600::BIGINT) AS BIGINT) * "p"."w")) AS "m0", sum(CASE WHEN (NOT ("r"."a1" IS NULL)) THEN "p"."w" END) AS "m1"
FROM "person_rows" AS "r" JOIN "people" AS "p" ON ("r"."u" = "p"."u")


-- A column that is never NULL shares the count of rows.
SELECT COUNT(*), AVG(stay) FROM visits
-- becomes
WITH "person_rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"people" AS MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "person_rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum("p"."w") AS "m0", sum((CAST(("r"."a0" - 30::BIGINT) AS BIGINT) * "p"."w")) AS "m1"
FROM "person_rows" AS "r" JOIN "people" AS "p" ON ("r"."u" = "p"."u")


-- Counting values skips NULL.
SELECT COUNT(cost) FROM visits
-- becomes
WITH "person_rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."cost" AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"people" AS MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "person_rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) AS "m0"
FROM "person_rows" AS "r" JOIN "people" AS "p" ON ("r"."u" = "p"."u")


-- Standard deviations are weighted too.
SELECT STDDEV(age) FROM visits
-- becomes
WITH "person_rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS INTEGER) AS "a0", CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS "a1", "t0"."age" AS "a2"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"people" AS MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "person_rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum((CAST(("r"."a0" - 60::BIGINT) AS BIGINT) * "p"."w")) AS "m0", sum((CAST(((("r"."a1" - 60::BIGINT) * ("r"."a1" - 60::BIGINT)) - 1800::BIGINT) AS BIGINT) * "p"."w")) AS "m1", sum(CASE WHEN (NOT ("r"."a2" IS NULL)) THEN "p"."w" END) AS "m2"
FROM "person_rows" AS "r" JOIN "people" AS "p" ON ("r"."u" = "p"."u")


-- Weights apply to the candidates of a median.
SELECT MEDIAN(cost) FROM visits
-- becomes
WITH "person_rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CASE WHEN isfinite("t0"."cost") THEN CAST(least(greatest(floor("t0"."cost" * 100.0e0 + 0.5e0), 0.0e0), 500000.0e0) AS BIGINT) END AS "x"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"people" AS MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "person_rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."x" AS "x", sum("p"."w") AS "m0"
FROM "person_rows" AS "r" JOIN "people" AS "p" ON ("r"."u" = "p"."u")
WHERE (NOT ("r"."x" IS NULL))
GROUP BY "r"."x"


-- And to those of a mode.
SELECT city IS NULL, MODE(ward) FROM visits GROUP BY city IS NULL
-- becomes
WITH "person_rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", ("t0"."city" IS NULL) AS "k0", "t0"."ward" AS "x"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (NOT (("t0"."city" IS NULL) IS NULL)))
),
"people" AS MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "person_rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", "r"."x" AS "x", sum("p"."w") AS "m0"
FROM "person_rows" AS "r" JOIN "people" AS "p" ON ("r"."u" = "p"."u")
WHERE ("r"."x" IN ('A', 'B', 'C'))
GROUP BY "r"."k0", "r"."x"


-- A prepared table holds at most the declared rows already.
SELECT ward, COUNT(*), SUM(cost) FROM ready GROUP BY ward
-- becomes
SELECT "r"."k0" AS "k0", count(*) AS "m0", sum("r"."a0") AS "m1"
FROM (SELECT "t0"."ward" AS "k0", CAST(CASE WHEN isfinite("t0"."cost") THEN CAST(least(greatest(floor("t0"."cost" * 100.0e0 + 0.5e0), 0.0e0), 500000.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM "ready" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))) AS "r"
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C'))


-- Limits per group: rows are summed per person and group first, and groups chosen by a keyed hash.
SELECT ward, COUNT(*) FROM limited GROUP BY ward
-- becomes
WITH "person_rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0"
FROM "limited" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND ("t0"."ward" IN ('A', 'B', 'C')))
),
"cells" AS MATERIALIZED (
SELECT "r"."u" AS "u", "r"."k0" AS "k0", count(*) AS "n", count(*) AS "s0"
FROM "person_rows" AS "r"
GROUP BY "r"."u", "r"."k0"
),
"over_groups" AS MATERIALIZED (
SELECT "c"."u" AS "u"
FROM "cells" AS "c"
GROUP BY "c"."u"
HAVING (count(*) > 4)
),
"kept" AS MATERIALIZED (
SELECT "b"."u" AS "u", "b"."k0" AS "k0", "b"."n" AS "n", "b"."s0" AS "s0"
FROM (SELECT "c"."u" AS "u", "c"."k0" AS "k0", "c"."n" AS "n", "c"."s0" AS "s0"
FROM "cells" AS "c" LEFT JOIN "over_groups" AS "o" ON ("c"."u" = "o"."u")
WHERE ("o"."u" IS NULL) UNION ALL SELECT "j"."u" AS "u", "j"."k0" AS "k0", "j"."n" AS "n", "j"."s0" AS "s0"
FROM (SELECT "c"."u" AS "u", "c"."k0" AS "k0", "c"."n" AS "n", "c"."s0" AS "s0", row_number() OVER (PARTITION BY "c"."u" ORDER BY hash(CAST($choice AS UBIGINT), "c"."u", "c"."k0"), "c"."k0") AS "j"
FROM "cells" AS "c" JOIN "over_groups" AS "o" ON ("c"."u" = "o"."u")) AS "j"
WHERE ("j"."j" <= 4)) AS "b"
),
"over" AS MATERIALIZED (
SELECT "c"."u" AS "u", sum(least("c"."n", 2::BIGINT)) AS "t"
FROM "kept" AS "c"
GROUP BY "c"."u"
HAVING (sum(least("c"."n", 2::BIGINT)) > 8)
)
SELECT "c"."k0" AS "k0", sum((CAST("c"."s0" AS HUGEINT) * CASE WHEN ("p"."t" IS NULL) THEN ((65536::BIGINT * least("c"."n", 2::BIGINT)) // "c"."n") ELSE ((CAST((524288::BIGINT * least("c"."n", 2::BIGINT)) AS HUGEINT) * 1) // (CAST("c"."n" AS HUGEINT) * "p"."t")) END)) AS "m0"
FROM "kept" AS "c" LEFT JOIN "over" AS "p" ON ("c"."u" = "p"."u")
GROUP BY "c"."k0"


-- With a single group only the limit in that group matters.
SELECT SUM(age) FROM limited
-- becomes
WITH "person_rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS INTEGER) AS "a0"
FROM "limited" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"cells" AS MATERIALIZED (
SELECT "r"."u" AS "u", count(*) AS "n", sum("r"."a0") AS "s0"
FROM "person_rows" AS "r"
GROUP BY "r"."u"
),
"over" AS MATERIALIZED (
SELECT "c"."u" AS "u", sum(least("c"."n", 2::BIGINT)) AS "t"
FROM "cells" AS "c"
GROUP BY "c"."u"
HAVING (sum(least("c"."n", 2::BIGINT)) > 8)
)
SELECT sum((CAST("c"."s0" AS HUGEINT) * CASE WHEN ("p"."t" IS NULL) THEN ((65536::BIGINT * least("c"."n", 2::BIGINT)) // "c"."n") ELSE ((CAST((524288::BIGINT * least("c"."n", 2::BIGINT)) AS HUGEINT) * 1) // (CAST("c"."n" AS HUGEINT) * "p"."t")) END)) AS "m0"
FROM "cells" AS "c" LEFT JOIN "over" AS "p" ON ("c"."u" = "p"."u")

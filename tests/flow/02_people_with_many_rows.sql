-- A person above the limit of rows counts with a smaller weight per row.
SELECT COUNT(*) FROM visits
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))) AS "r"
GROUP BY "r"."u") AS "p"


-- The weights depend on each person's rows among those the question selects.
SELECT ward, COUNT(*) FROM visits WHERE age >= 18 GROUP BY ward
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0"
FROM "visits" AS "t0"
WHERE (("t0"."age" >= 18) AND (NOT ("t0"."patient_id" IS NULL)))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
WHERE ("r"."k0" IN ('A', 'B', 'C'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C'))


-- Sums carry the same weights.
SELECT ward, SUM(cost) FROM visits GROUP BY ward
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0", CAST(CASE WHEN isfinite("t0"."cost") THEN CAST(least(greatest(floor("t0"."cost" * 100.0e0 + 0.5e0), 0.0e0), 500000.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
WHERE ("r"."k0" IN ('A', 'B', 'C'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C'))


-- So do averages, and numerator and denominator agree.
SELECT AVG(temperature) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN isfinite("t0"."temperature") THEN CAST(least(greatest(floor("t0"."temperature" * 1048576.0e0 + 0.5e0), 31457280.0e0), 47185920.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT (15728640::BIGINT * sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) - sum((CAST(("r"."a0" - 31457280::BIGINT) AS BIGINT) * "p"."w"))) AS "m0", sum((CAST(("r"."a0" - 31457280::BIGINT) AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- A column that is never NULL shares the count of rows.
SELECT COUNT(*), AVG(stay) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT (60::BIGINT * sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) - sum((CAST("r"."a0" AS BIGINT) * "p"."w"))) AS "m0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- Counting values skips NULL.
SELECT COUNT(cost) FROM visits
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count("r"."a0") AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u", "t0"."cost" AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))) AS "r"
GROUP BY "r"."u") AS "p"


-- Standard deviations are weighted too.
SELECT STDDEV(age) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum((CAST(((120::BIGINT - "r"."a0") * (120::BIGINT - "r"."a0")) AS BIGINT) * "p"."w")) AS "m0", sum((CAST(((2::BIGINT * "r"."a0") * (120::BIGINT - "r"."a0")) AS BIGINT) * "p"."w")) AS "m1", sum((CAST(("r"."a0" * "r"."a0") AS BIGINT) * "p"."w")) AS "m2"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- Weights apply to the candidates of a median.
SELECT MEDIAN(cost) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CASE WHEN isfinite("t0"."cost") THEN CAST(least(greatest(floor("t0"."cost" * 100.0e0 + 0.5e0), 0.0e0), 500000.0e0) AS BIGINT) END AS "x"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."x" AS "x", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
WHERE (NOT ("r"."x" IS NULL))
GROUP BY "r"."x"


-- And to those of a mode.
SELECT city IS NULL, MODE(ward) FROM visits GROUP BY city IS NULL
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", ("t0"."city" IS NULL) AS "k0", "t0"."ward" AS "x"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (NOT (("t0"."city" IS NULL) IS NULL)))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", "r"."x" AS "x", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
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


-- Limits per group: only cells of more rows than allowed are counted one by one; bits tell who may have any.
SELECT ward, COUNT(*) FROM limited GROUP BY ward
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0"
FROM "limited" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS MATERIALIZED (
SELECT "r"."u" AS "u", count(*) AS "n", bit_count(bit_or("b"."bit")) AS "b"
FROM "__rows" AS "r" JOIN (VALUES ('A', 1), ('B', 2), ('C', 4)) AS "b"("k0", "bit") ON ("r"."k0" = "b"."k0")
GROUP BY "r"."u"
),
"__crowded" AS MATERIALIZED (
SELECT "r"."u" AS "u", "r"."k0" AS "k0", count(*) AS "n"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
WHERE (("p"."n" - "p"."b") >= 2)
GROUP BY "r"."u", "r"."k0"
HAVING ((count(*) > 2) AND (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C')))
),
"__excess" AS NOT MATERIALIZED (
SELECT "c"."u" AS "u", CAST(sum(("c"."n" - 2::BIGINT)) AS BIGINT) AS "e"
FROM "__crowded" AS "c"
GROUP BY "c"."u"
),
"__weights" AS MATERIALIZED (
SELECT "p"."u" AS "u", greatest(6::BIGINT, ("p"."n" - coalesce("e"."e", 0::BIGINT))) AS "t", CAST((393216 // greatest(6::BIGINT, ("p"."n" - coalesce("e"."e", 0::BIGINT)))) AS INTEGER) AS "w"
FROM "__people" AS "p" LEFT JOIN "__excess" AS "e" ON ("p"."u" = "e"."u")
),
"__cells" AS NOT MATERIALIZED (
SELECT "c"."u" AS "u", "c"."k0" AS "k0", CAST(((786432 // "w"."t") // "c"."n") AS INTEGER) AS "w"
FROM "__crowded" AS "c" JOIN "__weights" AS "w" ON ("c"."u" = "w"."u")
)
SELECT "r"."k0" AS "k0", sum(coalesce("c"."w", "w"."w")) AS "m0"
FROM "__rows" AS "r" JOIN "__weights" AS "w" ON ("r"."u" = "w"."u") LEFT JOIN "__cells" AS "c" ON (("r"."u" = "c"."u") AND ("r"."k0" = "c"."k0"))
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C'))


-- With a single group only the limit in that group matters.
SELECT SUM(age) FROM limited
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS INTEGER) AS "a0"
FROM "limited" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (131072 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- Who can say how many rows nobody exceeds has the people above the limit counted as well: each in every group of theirs.
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rows_at_most = 40) ward, COUNT(*) FROM visits GROUP BY ward
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
WHERE ("r"."k0" IN ('A', 'B', 'C'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C'))
-- and
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND ("t0"."ward" IN ('A', 'B', 'C')))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u"
FROM "__rows" AS "r"
GROUP BY "r"."u"
HAVING (count(*) > 8)
)
SELECT "c"."k0" AS "k0", count(*) AS "m1"
FROM (SELECT "r"."u" AS "u", "r"."k0" AS "k0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."u", "r"."k0") AS "c"
GROUP BY "c"."k0"

-- A running count is one more group key: the number of the cell in which the value falls.  Noise and sums come later.
SELECT CDF(age) FROM votes
-- becomes
SELECT "r"."k0" AS "k0", count(*) AS "m0"
FROM (SELECT (CASE WHEN "t0"."age" < 18 THEN 18 WHEN "t0"."age" > 99 THEN 99 ELSE "t0"."age" END - 18::BIGINT) AS "k0"
FROM "votes" AS "t0"
WHERE (NOT ((CASE WHEN "t0"."age" < 18 THEN 18 WHEN "t0"."age" > 99 THEN 99 ELSE "t0"."age" END - 18::BIGINT) IS NULL))) AS "r"
GROUP BY "r"."k0"


-- Ten equal cells of whole numbers: floor(p * 10 / 82) of the clamped number p.
SELECT HISTOGRAM(age, 10) FROM votes
-- becomes
SELECT "r"."k0" AS "k0", count(*) AS "m0"
FROM (SELECT (((CASE WHEN "t0"."age" < 18 THEN 18 WHEN "t0"."age" > 99 THEN 99 ELSE "t0"."age" END - 18::BIGINT) * 10::BIGINT) // 82) AS "k0"
FROM "votes" AS "t0"
WHERE (NOT ((((CASE WHEN "t0"."age" < 18 THEN 18 WHEN "t0"."age" > 99 THEN 99 ELSE "t0"."age" END - 18::BIGINT) * 10::BIGINT) // 82) IS NULL))) AS "r"
GROUP BY "r"."k0"


-- Edges are compared one by one; rows without a value are in no cell.
SELECT HISTOGRAM(cost, [100, 1000]) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CASE WHEN ("t0"."cost" IS NULL) THEN NULL WHEN ("t0"."cost" < 100.0e0) THEN 0::BIGINT WHEN ("t0"."cost" < 1000.0e0) THEN 1::BIGINT ELSE 2::BIGINT END AS "k0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (NOT (CASE WHEN ("t0"."cost" IS NULL) THEN NULL WHEN ("t0"."cost" < 100.0e0) THEN 0::BIGINT WHEN ("t0"."cost" < 1000.0e0) THEN 1::BIGINT ELSE 2::BIGINT END IS NULL)))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"


-- Quantiles of every ward come from running counts; a ward's cells are counted like any group.
SELECT ward, QUANTILES(temperature, [0.5, 0.9], 16) FROM visits GROUP BY ward
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0", CASE WHEN (((CASE WHEN isfinite("t0"."temperature") THEN CAST(least(greatest(floor("t0"."temperature" * 1048576.0e0 + 0.5e0), 31457280.0e0), 47185920.0e0) AS BIGINT) END - 31457280::BIGINT) * 16::BIGINT) // 15728640) IS NOT NULL THEN least(greatest((((CASE WHEN isfinite("t0"."temperature") THEN CAST(least(greatest(floor("t0"."temperature" * 1048576.0e0 + 0.5e0), 31457280.0e0), 47185920.0e0) AS BIGINT) END - 31457280::BIGINT) * 16::BIGINT) // 15728640), 0), 15) END AS "k1"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (NOT (CASE WHEN (((CASE WHEN isfinite("t0"."temperature") THEN CAST(least(greatest(floor("t0"."temperature" * 1048576.0e0 + 0.5e0), 31457280.0e0), 47185920.0e0) AS BIGINT) END - 31457280::BIGINT) * 16::BIGINT) // 15728640) IS NOT NULL THEN least(greatest((((CASE WHEN isfinite("t0"."temperature") THEN CAST(least(greatest(floor("t0"."temperature" * 1048576.0e0 + 0.5e0), 31457280.0e0), 47185920.0e0) AS BIGINT) END - 31457280::BIGINT) * 16::BIGINT) // 15728640), 0), 15) END IS NULL)))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
WHERE ("r"."k0" IN ('A', 'B', 'C'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", "r"."k1" AS "k1", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0", "r"."k1"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C'))


-- A cube needs only its finest table: all the others are sums of it.
SELECT ward, urgent, COUNT(*) FROM visits GROUP BY CUBE (ward, urgent)
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0", "t0"."urgent" AS "k1"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (NOT ("t0"."urgent" IS NULL)))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
WHERE ("r"."k0" IN ('A', 'B', 'C'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", "r"."k1" AS "k1", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0", "r"."k1"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C'))


-- Sets without a common finest one need one statement each, about the same rows.
SELECT ward, urgent, COUNT(*), SUM(stay) FROM visits GROUP BY GROUPING SETS ((ward), (urgent), ())
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0", CAST(CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."urgent" IS NULL)) AND (NOT ("t0"."patient_id" IS NULL)))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
WHERE ("r"."k0" IN ('A', 'B', 'C'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C'))
-- and
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."urgent" AS "k0", CAST(CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (("t0"."ward" IN ('A', 'B', 'C')) AND (NOT ("t0"."patient_id" IS NULL)) AND (NOT ("t0"."urgent" IS NULL)))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"

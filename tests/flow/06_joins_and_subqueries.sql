-- A public table adds columns; one visit may match several of its rows, so weights come after the join.
SELECT w.floor, COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.floor
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t1"."floor" AS "k0"
FROM "visits" AS "t0" JOIN "wards" AS "t1" ON ("t0"."ward" = "t1"."ward")
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND ("t1"."floor" >= 0) AND ("t1"."floor" <= 3))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"


-- Without a unit the public key must be unique, and is made so.
SELECT COUNT(*) FROM votes JOIN wards ON votes.party = wards.ward
-- becomes
SELECT count(*) AS "m0"
FROM (SELECT 1 AS "one"
FROM "votes" AS "t0" JOIN (SELECT "t1"."ward" AS "c0", min("t1"."floor") AS "c1"
FROM "wards" AS "t1"
GROUP BY "t1"."ward") AS "t2" ON ("t0"."party" = "t2"."c0")) AS "r"


-- Private tables are joined on the person; undeclared identifiers are compared as text.
SELECT v.ward, AVG(p.born) FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY v.ward
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0", CAST(CASE WHEN "t1"."born" < 1900 THEN 1900 WHEN "t1"."born" > 2024 THEN 2024 ELSE "t1"."born" END AS INTEGER) AS "a0"
FROM "visits" AS "t0" JOIN "patients" AS "t1" ON (CAST("t0"."patient_id" AS VARCHAR) = CAST("t1"."patient_id" AS VARCHAR))
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
WHERE ("r"."k0" IN ('A', 'B', 'C'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", (124::BIGINT * sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) - sum((CAST(("r"."a0" - 1900::BIGINT) AS BIGINT) * "p"."w"))) AS "m0", sum((CAST(("r"."a0" - 1900::BIGINT) AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('A', 'B', 'C'))


-- The same with USING.
SELECT AVG(born) FROM limited JOIN visits USING (patient_id) JOIN patients USING (patient_id)
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN "t2"."born" < 1900 THEN 1900 WHEN "t2"."born" > 2024 THEN 2024 ELSE "t2"."born" END AS INTEGER) AS "a0"
FROM "limited" AS "t0" JOIN "visits" AS "t1" ON (CAST("t0"."patient_id" AS VARCHAR) = CAST("t1"."patient_id" AS VARCHAR)) JOIN "patients" AS "t2" ON (CAST("t0"."patient_id" AS VARCHAR) = CAST("t2"."patient_id" AS VARCHAR))
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (131072 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT (124::BIGINT * sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) - sum((CAST(("r"."a0" - 1900::BIGINT) AS BIGINT) * "p"."w"))) AS "m0", sum((CAST(("r"."a0" - 1900::BIGINT) AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- A self-join multiplies a person's rows; the limit applies to the product.
SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (4194304 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0" JOIN "visits" AS "t1" ON (CAST("t0"."patient_id" AS VARCHAR) = CAST("t1"."patient_id" AS VARCHAR))
WHERE (NOT ("t0"."patient_id" IS NULL))) AS "r"
GROUP BY "r"."u") AS "p"


-- A left join keeps rows of the left person only.
SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "patients" AS "t0" LEFT JOIN "visits" AS "t1" ON (CAST("t0"."patient_id" AS VARCHAR) = CAST("t1"."patient_id" AS VARCHAR))
WHERE (NOT ("t0"."patient_id" IS NULL))) AS "r"
GROUP BY "r"."u") AS "p"


-- A subquery grouped by the person has one row for each, so nothing has to be bounded.
SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t
-- becomes
SELECT sum((8::BIGINT - "r"."a0")) AS "m0", sum("r"."a0") AS "m1"
FROM (SELECT CAST(CASE WHEN "t0"."c1" < 0 THEN 0 WHEN "t0"."c1" > 8 THEN 8 ELSE "t0"."c1" END AS INTEGER) AS "a0"
FROM (SELECT "t1"."patient_id" AS "c0", count(*) AS "c1", "t1"."patient_id" AS "u"
FROM "visits" AS "t1"
GROUP BY "t1"."patient_id") AS "t0"
WHERE (NOT ("t0"."u" IS NULL))) AS "r"


-- Sums inside a person are integers as well, so that no rounding depends on other people.
SELECT AVG(CLAMP(total, 0, 9000)) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t
-- becomes
SELECT sum((36864000::BIGINT - "r"."a0")) AS "m0", sum("r"."a0") AS "m1"
FROM (SELECT CAST(CASE WHEN isfinite(CASE WHEN isfinite("t0"."c1") THEN least(greatest("t0"."c1", 0.0e0), 9000.0e0) END) THEN CAST(least(greatest(floor(CASE WHEN isfinite("t0"."c1") THEN least(greatest("t0"."c1", 0.0e0), 9000.0e0) END * 4096.0e0 + 0.5e0), 0.0e0), 36864000.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM (SELECT "t1"."patient_id" AS "c0", list_transform([(TRY_CAST(CAST(sum(CASE WHEN isfinite("t1"."cost") THEN CAST(least(greatest(floor("t1"."cost" * 100.0e0 + 0.5e0), 0.0e0), 500000.0e0) AS BIGINT) END) AS VARCHAR) AS DOUBLE) / 100.0e0)], lambda x: (trunc(nullif(nullif(least(greatest(x, -3.273390607896142e+150), 3.273390607896142e+150), 3.273390607896142e+150), -3.273390607896142e+150) * 3.273390607896142e+150) * 3.054936363499605e-151))[1] AS "c1", "t1"."patient_id" AS "u"
FROM "visits" AS "t1"
GROUP BY "t1"."patient_id") AS "t0"
WHERE (NOT ("t0"."u" IS NULL))) AS "r"


-- The same as a common table expression, with a filter per person.
WITH often AS (SELECT patient_id, MAX(age) AS age FROM visits GROUP BY patient_id HAVING COUNT(*) > 2) SELECT COUNT(*), AVG(age) FROM often
-- becomes
SELECT sum((120::BIGINT - "r"."a0")) AS "m0", sum("r"."a0") AS "m1", sum(CASE WHEN ("r"."a0" IS NULL) THEN 120::BIGINT ELSE 0::BIGINT END) AS "m2"
FROM (SELECT CAST(CASE WHEN "t0"."c1" < 0 THEN 0 WHEN "t0"."c1" > 120 THEN 120 ELSE "t0"."c1" END AS INTEGER) AS "a0"
FROM (SELECT "t1"."patient_id" AS "c0", max("t1"."age") AS "c1", "t1"."patient_id" AS "u"
FROM "visits" AS "t1"
GROUP BY "t1"."patient_id"
HAVING (count(*) > 2)) AS "t0"
WHERE (NOT ("t0"."u" IS NULL))) AS "r"


-- A subquery that only filters keeps the limits of its table.
SELECT ward, COUNT(*) FROM (SELECT ward, age FROM visits WHERE urgent) t WHERE age > 30 GROUP BY ward
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."u" AS "u", "t0"."c0" AS "k0"
FROM (SELECT "t1"."ward" AS "c0", "t1"."age" AS "c1", "t1"."patient_id" AS "u"
FROM "visits" AS "t1"
WHERE "t1"."urgent") AS "t0"
WHERE (("t0"."c1" > 30) AND (NOT ("t0"."u" IS NULL)))
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


-- Pairs of person and ward, each once.
SELECT ward, COUNT(*) FROM (SELECT DISTINCT patient_id, ward FROM visits) t GROUP BY ward
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."u" AS "u", "t0"."c1" AS "k0"
FROM (SELECT "t1"."patient_id" AS "c0", "t1"."ward" AS "c1", "t1"."patient_id" AS "u"
FROM "visits" AS "t1"
GROUP BY "t1"."patient_id", "t1"."ward") AS "t0"
WHERE (NOT ("t0"."u" IS NULL))
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


-- Ordering, limits and conditions on the answer are not the engine's business.
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 100 ORDER BY n DESC LIMIT 2
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


-- Nor is selecting from an answer.
SELECT ward FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t WHERE n > 10
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

-- People are counted once per group: each one's groups are the bits of a mask.
SELECT ward, COUNT(DISTINCT patient_id) FROM visits GROUP BY ward
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."ward" AS "k0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", bit_or("b"."bit") AS "b"
FROM "__rows" AS "r" JOIN (VALUES ('A', 1), ('B', 2), ('C', 4)) AS "b"("k0", "bit") ON ("r"."k0" = "b"."k0")
GROUP BY "r"."u"
)
SELECT unnest(['A', 'B', 'C']) AS "k0", unnest([sum(("p"."w" & -(("p"."b" >> 0) & 1))), sum(("p"."w" & -(("p"."b" >> 1) & 1))), sum(("p"."w" & -(("p"."b" >> 2) & 1)))]) AS "m0"
FROM (SELECT "p"."b" AS "b", 1 AS "w"
FROM "__people" AS "p") AS "p"


-- Without groups every person simply counts once.
SELECT COUNT(DISTINCT patient_id) FROM visits
-- becomes
SELECT count(*) AS "m0"
FROM (SELECT "r"."u" AS "u"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))) AS "r"
GROUP BY "r"."u") AS "c"


-- A person in more groups than allowed counts less in each of them; groups are the bits of a mask.
SELECT EXTRACT(month FROM arrived), COUNT(DISTINCT patient_id) FROM visits GROUP BY 1
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", TRY(date_part('month', "t0"."arrived")) AS "k0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (TRY(date_part('month', "t0"."arrived")) >= 1) AND (TRY(date_part('month', "t0"."arrived")) <= 12))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", bit_or("b"."bit") AS "b"
FROM "__rows" AS "r" JOIN (VALUES (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 64), (8, 128), (9, 256), (10, 512), (11, 1024), (12, 2048)) AS "b"("k0", "bit") ON ("r"."k0" = "b"."k0")
GROUP BY "r"."u"
)
SELECT unnest([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) AS "k0", unnest([sum(("p"."w" & -(("p"."b" >> 0) & 1))), sum(("p"."w" & -(("p"."b" >> 1) & 1))), sum(("p"."w" & -(("p"."b" >> 2) & 1))), sum(("p"."w" & -(("p"."b" >> 3) & 1))), sum(("p"."w" & -(("p"."b" >> 4) & 1))), sum(("p"."w" & -(("p"."b" >> 5) & 1))), sum(("p"."w" & -(("p"."b" >> 6) & 1))), sum(("p"."w" & -(("p"."b" >> 7) & 1))), sum(("p"."w" & -(("p"."b" >> 8) & 1))), sum(("p"."w" & -(("p"."b" >> 9) & 1))), sum(("p"."w" & -(("p"."b" >> 10) & 1))), sum(("p"."w" & -(("p"."b" >> 11) & 1)))]) AS "m0"
FROM (SELECT "p"."b" AS "b", CAST(least(65536::BIGINT, (262144 // bit_count("p"."b"))) AS INTEGER) AS "w"
FROM "__people" AS "p") AS "p"


-- Keys found in the data are counted by people; a threshold decides later.
SELECT city, COUNT(*) FROM visits GROUP BY city
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", "t0"."city" AS "k0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (NOT ("t0"."city" IS NULL)))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"
-- and
SELECT "j"."k0" AS "k0", count(*) AS "m1"
FROM (SELECT "c"."u" AS "u", "c"."k0" AS "k0", row_number() OVER (PARTITION BY "c"."u" ORDER BY hash(hash(CAST($choice AS UBIGINT), "c"."u", "c"."k0")), "c"."k0") AS "j"
FROM (SELECT "r"."u" AS "u", "r"."k0" AS "k0"
FROM (SELECT "t0"."patient_id" AS "u", "t0"."city" AS "k0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (NOT ("t0"."city" IS NULL)))) AS "r"
GROUP BY "r"."u", "r"."k0") AS "c") AS "j"
WHERE ("j"."j" <= 4)
GROUP BY "j"."k0"


-- The count of people of a private key decides whether it is shown, and is released with it.
SELECT city, COUNT(DISTINCT patient_id) FROM visits GROUP BY city
-- becomes
SELECT "j"."k0" AS "k0", count(*) AS "m0"
FROM (SELECT "c"."u" AS "u", "c"."k0" AS "k0", row_number() OVER (PARTITION BY "c"."u" ORDER BY hash(hash(CAST($choice AS UBIGINT), "c"."u", "c"."k0")), "c"."k0") AS "j"
FROM (SELECT "r"."u" AS "u", "r"."k0" AS "k0"
FROM (SELECT "t0"."patient_id" AS "u", "t0"."city" AS "k0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (NOT ("t0"."city" IS NULL)))) AS "r"
GROUP BY "r"."u", "r"."k0") AS "c") AS "j"
WHERE ("j"."j" <= 4)
GROUP BY "j"."k0"


-- Distinct values: each person brings at most so many.
SELECT COUNT(DISTINCT city) FROM visits
-- becomes
SELECT count(DISTINCT "j"."x") AS "m0"
FROM (SELECT "c"."u" AS "u", "c"."x" AS "x", row_number() OVER (PARTITION BY "c"."u" ORDER BY hash(hash(CAST($choice AS UBIGINT), "c"."u", "c"."x")), "c"."x") AS "j"
FROM (SELECT "r"."u" AS "u", "r"."x" AS "x"
FROM (SELECT "t0"."patient_id" AS "u", "t0"."city" AS "x"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))) AS "r"
WHERE (NOT ("r"."x" IS NULL))
GROUP BY "r"."u", "r"."x") AS "c") AS "j"
WHERE ("j"."j" <= 8)


-- The extremes are quantiles that aim a little inside.
SELECT MIN(age), MAX(age) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS "x"
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
-- and
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS "x"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."x" AS "x", sum("p"."w") AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
WHERE (NOT ("r"."x" IS NULL))
GROUP BY "r"."x"


-- Other quantiles.
SELECT QUANTILE(age, 0.9) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS "x"
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


-- The same in the words of the standard.
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS "x"
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


-- Several families of measurements become several statements on one snapshot.
SELECT COUNT(*), COUNT(DISTINCT patient_id), MEDIAN(age) FROM visits
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))) AS "r"
GROUP BY "r"."u") AS "p"
-- and
SELECT count(*) AS "m1"
FROM (SELECT "r"."u" AS "u"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))) AS "r"
GROUP BY "r"."u") AS "c"
-- and
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS "x"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."x" AS "x", sum("p"."w") AS "m2"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
WHERE (NOT ("r"."x" IS NULL))
GROUP BY "r"."x"


-- Keys that are found in the data may be found by weights: who is in m groups adds floor(W / sqrt(m)) to each.
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = WEIGHTED_THRESHOLD) city FROM visits GROUP BY city
-- becomes
WITH "__cells" AS MATERIALIZED (
SELECT "j"."u" AS "u", "j"."k0" AS "k0"
FROM (SELECT "c"."u" AS "u", "c"."k0" AS "k0", row_number() OVER (PARTITION BY "c"."u" ORDER BY hash(hash(CAST($choice AS UBIGINT), "c"."u", "c"."k0")), "c"."k0") AS "j"
FROM (SELECT "r"."u" AS "u", "r"."k0" AS "k0"
FROM (SELECT "t0"."patient_id" AS "u", "t0"."city" AS "k0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (NOT ("t0"."city" IS NULL)))) AS "r"
GROUP BY "r"."u", "r"."k0") AS "c") AS "j"
WHERE ("j"."j" <= 4)
),
"__people" AS NOT MATERIALIZED (
SELECT "c"."u" AS "u", CAST(CASE WHEN (count(*) = 1) THEN 65536::BIGINT WHEN (count(*) = 2) THEN 46340::BIGINT WHEN (count(*) = 3) THEN 37837::BIGINT WHEN (count(*) = 4) THEN 32768::BIGINT ELSE 0::BIGINT END AS INTEGER) AS "w"
FROM "__cells" AS "c"
GROUP BY "c"."u"
)
SELECT "c"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__cells" AS "c" JOIN "__people" AS "p" ON ("c"."u" = "p"."u")
GROUP BY "c"."k0"

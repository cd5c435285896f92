-- Lists of constants.
SELECT COUNT(*) FROM visits WHERE ward IN ('A', 'B') AND NOT urgent
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE ((("t0"."ward" IN ('A', 'B')) AND (NOT "t0"."urgent")) AND (NOT ("t0"."patient_id" IS NULL)))) AS "r"
GROUP BY "r"."u") AS "p"


-- Ranges.
SELECT COUNT(*) FROM visits WHERE age BETWEEN 18 AND 65
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE ((("t0"."age" >= 18) AND ("t0"."age" <= 65)) AND (NOT ("t0"."patient_id" IS NULL)))) AS "r"
GROUP BY "r"."u") AS "p"


-- Patterns are constant.
SELECT COUNT(*) FROM visits WHERE city LIKE 'B%'
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE (("t0"."city" LIKE 'B%') AND (NOT ("t0"."patient_id" IS NULL)))) AS "r"
GROUP BY "r"."u") AS "p"


-- Quotes in constants are escaped.
SELECT COUNT(*) FROM visits WHERE city = 'L''Aquila'
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE (("t0"."city" = 'L''Aquila') AND (NOT ("t0"."patient_id" IS NULL)))) AS "r"
GROUP BY "r"."u") AS "p"


-- NULL is asked for, not compared with.
SELECT COUNT(*) FROM visits WHERE cost IS NULL OR city IS NOT NULL
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE ((("t0"."cost" IS NULL) OR (NOT ("t0"."city" IS NULL))) AND (NOT ("t0"."patient_id" IS NULL)))) AS "r"
GROUP BY "r"."u") AS "p"


-- Text functions.
SELECT COUNT(*) FROM visits WHERE LOWER(SUBSTRING(TRIM(city), 1, 2)) = 'be'
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE ((CASE WHEN strlen(substring(trim("t0"."city", ' '), 1, 2)) = length(substring(trim("t0"."city", ' '), 1, 2)) THEN lower(substring(trim("t0"."city", ' '), 1, 2)) ELSE translate(substring(trim("t0"."city", ' '), 1, 2), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') END = 'be') AND (NOT ("t0"."patient_id" IS NULL)))) AS "r"
GROUP BY "r"."u") AS "p"


-- A function of a declared column has declared values too.
SELECT LOWER(ward), COUNT(*) FROM visits GROUP BY LOWER(ward)
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CASE WHEN strlen("t0"."ward") = length("t0"."ward") THEN lower("t0"."ward") ELSE translate("t0"."ward", 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') END AS "k0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
WHERE ("r"."k0" IN ('a', 'b', 'c'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('a', 'b', 'c'))


-- Dates are constants in ISO form.
SELECT COUNT(*) FROM visits WHERE day >= DATE '2024-02-01'
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE (("t0"."day" >= DATE '2024-02-01') AND (NOT ("t0"."patient_id" IS NULL)))) AS "r"
GROUP BY "r"."u") AS "p"


-- The months of a bounded date are declared keys.
SELECT DATE_TRUNC('month', day), COUNT(*) FROM visits GROUP BY 1
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", TRY_CAST(TRY(date_trunc('month', "t0"."day")) AS DATE) AS "k0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
WHERE ("r"."k0" IN (DATE '2024-01-01', DATE '2024-02-01', DATE '2024-03-01'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN (DATE '2024-01-01', DATE '2024-02-01', DATE '2024-03-01'))


-- So are its weekdays.
SELECT EXTRACT(dow FROM day), COUNT(*) FROM visits GROUP BY 1
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", TRY(date_part('dayofweek', "t0"."day")) AS "k0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (TRY(date_part('dayofweek', "t0"."day")) >= 0) AND (TRY(date_part('dayofweek', "t0"."day")) <= 6))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"


-- Differences and shifts of dates are NULL where the calendar ends.
SELECT COUNT(*) FROM visits WHERE DATE_DIFF('day', day, DATE '2024-12-31') > 30 AND day + INTERVAL 7 DAY < DATE '2024-03-01'
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE (((TRY(date_diff('day', "t0"."day", DATE '2024-12-31')) > 30) AND (nullif(nullif(least(greatest(CAST("t0"."day" + INTERVAL (7) DAY AS DATE), DATE '0000-12-31'), DATE '10000-01-01'), DATE '0000-12-31'), DATE '10000-01-01') < DATE '2024-03-01')) AND (NOT ("t0"."patient_id" IS NULL)))) AS "r"
GROUP BY "r"."u") AS "p"


-- Conditions can be keys.
SELECT age >= 65, AVG(cost) FROM visits GROUP BY age >= 65
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", ("t0"."age" >= 65) AS "k0", CAST(CASE WHEN isfinite("t0"."cost") THEN CAST(least(greatest(floor("t0"."cost" * 100.0e0 + 0.5e0), 0.0e0), 500000.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (NOT (("t0"."age" >= 65) IS NULL)))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", (500000::BIGINT * sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) - sum((CAST("r"."a0" AS BIGINT) * "p"."w"))) AS "m0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"


-- Ranges can be keys.
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS era, COUNT(*) FROM visits GROUP BY era
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CASE WHEN ("t0"."age" < 18) THEN 'child' WHEN ("t0"."age" < 65) THEN 'adult' ELSE 'senior' END AS "k0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
WHERE ("r"."k0" IN ('adult', 'child', 'senior'))
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('adult', 'child', 'senior'))


-- A filter on one aggregate.
SELECT COUNT(*) FILTER (WHERE urgent) FROM visits
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count("r"."a0") AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u", CASE WHEN "t0"."urgent" THEN 1::BIGINT END AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))) AS "r"
GROUP BY "r"."u") AS "p"

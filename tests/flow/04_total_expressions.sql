-- Arithmetic on bounded integers stays in integers that cannot overflow; the columns are clamped first.
SELECT SUM(age * stay) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN (CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END * CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END) IS NOT NULL THEN least(greatest((CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END * CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END), 0), 7200) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- Arithmetic that could overflow is done in doubles, which never raise.
SELECT COUNT(*) FROM visits WHERE note * note > 4
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE (((trunc(nullif(nullif(least(greatest(("t0"."note" * "t0"."note"), -3.273390607896142e+150), 3.273390607896142e+150), 3.273390607896142e+150), -3.273390607896142e+150) * 3.273390607896142e+150) * 3.054936363499605e-151) > 4.0e0) AND (NOT ("t0"."patient_id" IS NULL)))) AS "r"
GROUP BY "r"."u") AS "p"


-- Division by zero is not an error; what is not finite becomes NULL before it is compared.
SELECT COUNT(*) FROM visits WHERE cost / stay > 10
-- becomes
SELECT sum("p"."m0") AS "m0"
FROM (SELECT (CAST(count(*) AS BIGINT) * CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER)) AS "m0"
FROM (SELECT "t0"."patient_id" AS "u"
FROM "visits" AS "t0"
WHERE ((list_transform([(CASE WHEN isfinite("t0"."cost") THEN least(greatest("t0"."cost", 0.0e0), 5000.0e0) END / nullif(TRY_CAST(CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END AS DOUBLE), 0e0))], lambda x: (trunc(nullif(nullif(least(greatest(x, -3.273390607896142e+150), 3.273390607896142e+150), 3.273390607896142e+150), -3.273390607896142e+150) * 3.273390607896142e+150) * 3.054936363499605e-151))[1] > 10.0e0) AND (NOT ("t0"."patient_id" IS NULL)))) AS "r"
GROUP BY "r"."u") AS "p"


-- Bounds of a ratio are not known, so the question clamps it.
SELECT AVG(CLAMP(cost / stay, 0, 1000)) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN isfinite(CASE WHEN isfinite((CASE WHEN isfinite("t0"."cost") THEN least(greatest("t0"."cost", 0.0e0), 5000.0e0) END / nullif(TRY_CAST(CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END AS DOUBLE), 0e0))) THEN least(greatest((CASE WHEN isfinite("t0"."cost") THEN least(greatest("t0"."cost", 0.0e0), 5000.0e0) END / nullif(TRY_CAST(CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END AS DOUBLE), 0e0)), 0.0e0), 1000.0e0) END) THEN CAST(least(greatest(floor(CASE WHEN isfinite((CASE WHEN isfinite("t0"."cost") THEN least(greatest("t0"."cost", 0.0e0), 5000.0e0) END / nullif(TRY_CAST(CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END AS DOUBLE), 0e0))) THEN least(greatest((CASE WHEN isfinite("t0"."cost") THEN least(greatest("t0"."cost", 0.0e0), 5000.0e0) END / nullif(TRY_CAST(CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END AS DOUBLE), 0e0)), 0.0e0), 1000.0e0) END * 65536.0e0 + 0.5e0), 0.0e0), 65536000.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT (65536000::BIGINT * sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) - sum((CAST("r"."a0" AS BIGINT) * "p"."w"))) AS "m0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- A column without bounds can be clamped in the question.
SELECT SUM(CLAMP(note, -1, 1)) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN isfinite(CASE WHEN isfinite("t0"."note") THEN least(greatest("t0"."note", -1.0e0), 1.0e0) END) THEN CAST(least(greatest(floor(CASE WHEN isfinite("t0"."note") THEN least(greatest("t0"."note", -1.0e0), 1.0e0) END * 67108864.0e0 + 0.5e0), -67108864.0e0), 67108864.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- A clamp inside a larger expression does not replace the last one.
SELECT SUM(2 * CLAMP(note, 0, 10)) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN isfinite((2.0e0 * CASE WHEN isfinite("t0"."note") THEN least(greatest("t0"."note", 0.0e0), 10.0e0) END)) THEN CAST(least(greatest(floor((2.0e0 * CASE WHEN isfinite("t0"."note") THEN least(greatest("t0"."note", 0.0e0), 10.0e0) END) * 2097152.0e0 + 0.5e0), 0.0e0), 41943040.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- The branches of a CASE give the interval: here one person may move the sum by a million.
SELECT SUM(CASE WHEN city = 'Bern' THEN 1000000 ELSE age END) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN CASE WHEN ("t0"."city" = 'Bern') THEN 1000000::BIGINT ELSE "t0"."age" END IS NOT NULL THEN least(greatest(CASE WHEN ("t0"."city" = 'Bern') THEN 1000000::BIGINT ELSE "t0"."age" END, 0), 1000000) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- Casts yield NULL instead of an error.
SELECT AVG(CLAMP(CAST(city AS DOUBLE), 0, 1)) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN isfinite(CASE WHEN isfinite(CASE WHEN regexp_full_match("t0"."city", ' *[+-]?([0-9]{1,40}([.][0-9]{0,40})?|[.][0-9]{1,40})([eE][+-]?[0-9]{1,3})? *') THEN CASE WHEN abs(TRY_CAST("t0"."city" AS DOUBLE)) < 3.054936363499605e-151 THEN 0e0 WHEN abs(TRY_CAST("t0"."city" AS DOUBLE)) < 3.273390607896142e+150 THEN TRY_CAST("t0"."city" AS DOUBLE) END END) THEN least(greatest(CASE WHEN regexp_full_match("t0"."city", ' *[+-]?([0-9]{1,40}([.][0-9]{0,40})?|[.][0-9]{1,40})([eE][+-]?[0-9]{1,3})? *') THEN CASE WHEN abs(TRY_CAST("t0"."city" AS DOUBLE)) < 3.054936363499605e-151 THEN 0e0 WHEN abs(TRY_CAST("t0"."city" AS DOUBLE)) < 3.273390607896142e+150 THEN TRY_CAST("t0"."city" AS DOUBLE) END END, 0.0e0), 1.0e0) END) THEN CAST(least(greatest(floor(CASE WHEN isfinite(CASE WHEN regexp_full_match("t0"."city", ' *[+-]?([0-9]{1,40}([.][0-9]{0,40})?|[.][0-9]{1,40})([eE][+-]?[0-9]{1,3})? *') THEN CASE WHEN abs(TRY_CAST("t0"."city" AS DOUBLE)) < 3.054936363499605e-151 THEN 0e0 WHEN abs(TRY_CAST("t0"."city" AS DOUBLE)) < 3.273390607896142e+150 THEN TRY_CAST("t0"."city" AS DOUBLE) END END) THEN least(greatest(CASE WHEN regexp_full_match("t0"."city", ' *[+-]?([0-9]{1,40}([.][0-9]{0,40})?|[.][0-9]{1,40})([eE][+-]?[0-9]{1,3})? *') THEN CASE WHEN abs(TRY_CAST("t0"."city" AS DOUBLE)) < 3.054936363499605e-151 THEN 0e0 WHEN abs(TRY_CAST("t0"."city" AS DOUBLE)) < 3.273390607896142e+150 THEN TRY_CAST("t0"."city" AS DOUBLE) END END, 0.0e0), 1.0e0) END * 67108864.0e0 + 0.5e0), 0.0e0), 67108864.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT (67108864::BIGINT * sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) - sum((CAST("r"."a0" AS BIGINT) * "p"."w"))) AS "m0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- Rounding gives whole numbers, which can be keys.
SELECT FLOOR(age / 30), COUNT(*) FROM visits GROUP BY 1
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", TRY_CAST(floor((TRY_CAST(CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS DOUBLE) / 30.0e0)) AS BIGINT) AS "k0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND (TRY_CAST(floor((TRY_CAST(CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS DOUBLE) / 30.0e0)) AS BIGINT) >= 0) AND (TRY_CAST(floor((TRY_CAST(CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS DOUBLE) / 30.0e0)) AS BIGINT) <= 4))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"


-- Square roots of negative numbers are NULL.
SELECT AVG(CLAMP(SQRT(note), 0, 10)) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN isfinite(CASE WHEN isfinite(sqrt(CASE WHEN "t0"."note" >= 0 THEN "t0"."note" END)) THEN least(greatest(sqrt(CASE WHEN "t0"."note" >= 0 THEN "t0"."note" END), 0.0e0), 10.0e0) END) THEN CAST(least(greatest(floor(CASE WHEN isfinite(sqrt(CASE WHEN "t0"."note" >= 0 THEN "t0"."note" END)) THEN least(greatest(sqrt(CASE WHEN "t0"."note" >= 0 THEN "t0"."note" END), 0.0e0), 10.0e0) END * 4194304.0e0 + 0.5e0), 0.0e0), 41943040.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT (41943040::BIGINT * sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) - sum((CAST("r"."a0" AS BIGINT) * "p"."w"))) AS "m0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- Remainders need a constant divisor.
SELECT age % 10, COUNT(*) FROM visits GROUP BY age % 10
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", (CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END % 10) AS "k0"
FROM "visits" AS "t0"
WHERE ((NOT ("t0"."patient_id" IS NULL)) AND ((CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END % 10) >= 0) AND ((CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END % 10) <= 9))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT "r"."k0" AS "k0", sum("p"."w") AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")
GROUP BY "r"."k0"


-- The larger of two.
SELECT AVG(GREATEST(age, stay)) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN greatest(CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END, CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END) IS NOT NULL THEN least(greatest(greatest(CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END, CASE WHEN "t0"."stay" < 0 THEN 0 WHEN "t0"."stay" > 60 THEN 60 ELSE "t0"."stay" END), 0), 120) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT (120::BIGINT * sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) - sum((CAST("r"."a0" AS BIGINT) * "p"."w"))) AS "m0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- Missing values replaced.
SELECT AVG(COALESCE(cost, 0)) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN isfinite(coalesce("t0"."cost", 0.0e0)) THEN CAST(least(greatest(floor(coalesce("t0"."cost", 0.0e0) * 100.0e0 + 0.5e0), 0.0e0), 500000.0e0) AS BIGINT) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT (500000::BIGINT * sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) - sum((CAST("r"."a0" AS BIGINT) * "p"."w"))) AS "m0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- A power is a product.
SELECT SUM(POWER(age, 2)) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN (CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END * CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END) IS NOT NULL THEN least(greatest((CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END * CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END), 0), 14400) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m0"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")


-- Distance.
SELECT AVG(ABS(age - 40)) FROM visits
-- becomes
WITH "__rows" AS NOT MATERIALIZED (
SELECT "t0"."patient_id" AS "u", CAST(CASE WHEN abs((CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END - 40::BIGINT)) IS NOT NULL THEN least(greatest(abs((CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END - 40::BIGINT)), 0), 80) END AS INTEGER) AS "a0"
FROM "visits" AS "t0"
WHERE (NOT ("t0"."patient_id" IS NULL))
),
"__people" AS NOT MATERIALIZED (
SELECT "r"."u" AS "u", CAST(least(65536::BIGINT, (524288 // count(*))) AS INTEGER) AS "w"
FROM "__rows" AS "r"
GROUP BY "r"."u"
)
SELECT (80::BIGINT * sum(CASE WHEN (NOT ("r"."a0" IS NULL)) THEN "p"."w" END) - sum((CAST("r"."a0" AS BIGINT) * "p"."w"))) AS "m0", sum((CAST("r"."a0" AS BIGINT) * "p"."w")) AS "m1"
FROM "__rows" AS "r" JOIN "__people" AS "p" ON ("r"."u" = "p"."u")

-- Without a unit every row is its own person, so nothing has to be bounded.
SELECT COUNT(*) FROM votes
-- becomes
SELECT count(*) AS "m0"
FROM (SELECT 1 AS "one"
FROM "votes" AS "t0") AS "r"


-- Declared keys: rows of other parties are dropped after grouping; absent groups are filled with zero later.
SELECT party, COUNT(*) FROM votes GROUP BY party
-- becomes
SELECT "r"."k0" AS "k0", count(*) AS "m0"
FROM (SELECT "t0"."party" AS "k0"
FROM "votes" AS "t0") AS "r"
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('x', 'y'))


-- A sum clamps the aggregate's argument, not the column somewhere before it.
SELECT SUM(age) FROM votes
-- becomes
SELECT sum("r"."a0") AS "m0"
FROM (SELECT CAST(CASE WHEN "t0"."age" < 18 THEN 18 WHEN "t0"."age" > 99 THEN 99 ELSE "t0"."age" END AS INTEGER) AS "a0"
FROM "votes" AS "t0") AS "r"


-- An average sums the distances from both bounds: together they move no further than one of them.
SELECT party, AVG(age) FROM votes GROUP BY party
-- becomes
SELECT "r"."k0" AS "k0", sum((99::BIGINT - "r"."a0")) AS "m0", sum(("r"."a0" - 18::BIGINT)) AS "m1"
FROM (SELECT "t0"."party" AS "k0", CAST(CASE WHEN "t0"."age" < 18 THEN 18 WHEN "t0"."age" > 99 THEN 99 ELSE "t0"."age" END AS INTEGER) AS "a0"
FROM "votes" AS "t0") AS "r"
GROUP BY "r"."k0"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('x', 'y'))


-- The sum and the count follow from the same distances; a third integer counts rows without a value.
SELECT SUM(age), AVG(age), COUNT(*) FROM votes
-- becomes
SELECT sum((99::BIGINT - "r"."a0")) AS "m0", sum(("r"."a0" - 18::BIGINT)) AS "m1", sum(CASE WHEN ("r"."a0" IS NULL) THEN 81::BIGINT ELSE 0::BIGINT END) AS "m2"
FROM (SELECT CAST(CASE WHEN "t0"."age" < 18 THEN 18 WHEN "t0"."age" > 99 THEN 99 ELSE "t0"."age" END AS INTEGER) AS "a0"
FROM "votes" AS "t0") AS "r"


-- A variance needs the three terms of the squared width of the interval.
SELECT VARIANCE(age) FROM votes
-- becomes
SELECT sum(((99::BIGINT - "r"."a0") * (99::BIGINT - "r"."a0"))) AS "m0", sum(((2::BIGINT * ("r"."a0" - 18::BIGINT)) * (99::BIGINT - "r"."a0"))) AS "m1", sum((("r"."a0" - 18::BIGINT) * ("r"."a0" - 18::BIGINT))) AS "m2"
FROM (SELECT CASE WHEN "t0"."age" < 18 THEN 18 WHEN "t0"."age" > 99 THEN 99 ELSE "t0"."age" END AS "a0"
FROM "votes" AS "t0") AS "r"


-- A median counts the rows at each value; the choice is made privately afterwards.
SELECT party, MEDIAN(age) FROM votes GROUP BY party
-- becomes
SELECT "r"."k0" AS "k0", "r"."x" AS "x", count(*) AS "m0"
FROM (SELECT "t0"."party" AS "k0", (CASE WHEN "t0"."age" < 18 THEN 18 WHEN "t0"."age" > 99 THEN 99 ELSE "t0"."age" END - 18::BIGINT) AS "x"
FROM "votes" AS "t0") AS "r"
WHERE (NOT ("r"."x" IS NULL))
GROUP BY "r"."k0", "r"."x"
HAVING (CASE WHEN count(*) > 0 THEN "r"."k0" END IN ('x', 'y'))


-- The most common value is chosen among the declared ones.
SELECT MODE(party) FROM votes
-- becomes
SELECT "r"."x" AS "x", count(*) AS "m0"
FROM (SELECT "t0"."party" AS "x"
FROM "votes" AS "t0") AS "r"
WHERE ("r"."x" IN ('x', 'y'))
GROUP BY "r"."x"


-- A range of whole numbers is a set of declared keys.
SELECT age, COUNT(*) FROM votes GROUP BY age
-- becomes
SELECT "r"."k0" AS "k0", count(*) AS "m0"
FROM (SELECT "t0"."age" AS "k0"
FROM "votes" AS "t0"
WHERE (("t0"."age" >= 18) AND ("t0"."age" <= 99))) AS "r"
GROUP BY "r"."k0"


-- Distinct values: one row can add at most one.
SELECT COUNT(DISTINCT age) FROM votes
-- becomes
SELECT count(DISTINCT "r"."x") AS "m0"
FROM (SELECT "t0"."age" AS "x"
FROM "votes" AS "t0") AS "r"

-- What the other files do not show: every other refusal of a question in SQL, and a rewriting of each.

-- expressions
SELECT SUM(DP_INTERVAL_LOW(age)) FROM visits -> refused: is an end of a released value >> SELECT DP_INTERVAL_LOW(SUM(age)) FROM visits
SELECT COUNT(*) FROM visits WHERE CAST(flag AS DATE) = day -> refused: cannot turn >> SELECT COUNT(*) FROM visits WHERE CAST(city AS DATE) = day
SELECT COUNT(*) FROM visits WHERE NOT age -> refused: needs conditions but got >> SELECT COUNT(*) FROM visits WHERE NOT age > 3
SELECT SUM(CLAMP(city, 0, 1)) FROM visits -> refused: needs a number but got >> SELECT SUM(CLAMP(CAST(city AS INTEGER), 0, 1)) FROM visits
SELECT SUM(ROUND(cost, age)) FROM visits -> refused: the number of digits must be a constant >> SELECT SUM(ROUND(cost, 2)) FROM visits
SELECT COUNT(*) FROM visits WHERE LOWER(age) = 'x' -> refused: needs text but got >> SELECT COUNT(*) FROM visits WHERE LOWER(CAST(age AS TEXT)) = 'x'
SELECT COUNT(*) FROM visits WHERE SUBSTRING(city, age, 1) = 'x' -> refused: positions must be constants >> SELECT COUNT(*) FROM visits WHERE SUBSTRING(city, 2, 1) = 'x'
SELECT COUNT(*) FROM visits WHERE person IN ('ann') -> refused: declare the column's type >> SELECT COUNT(*) FROM visits WHERE city IN ('ann')
SELECT COUNT(*) FROM visits WHERE age IN ('x') -> refused: mixes integer and text >> SELECT COUNT(*) FROM visits WHERE age IN (3)
SELECT COUNT(*) FROM visits WHERE city IN (ward) -> refused: a list of constants >> SELECT COUNT(*) FROM visits WHERE city IN ('A')
SELECT COUNT(*) FROM visits WHERE age = 1e99 -> refused: is too large or too fine >> SELECT COUNT(*) FROM visits WHERE age = 1e9
SELECT COUNT(*) FROM visits WHERE moment > TIMESTAMP '2024-01-05 10:00:00+02:00' == SELECT COUNT(*) FROM visits WHERE moment > TIMESTAMP '2024-01-05 08:00:00'
SELECT COUNT(*) FROM visits WHERE CAST(cost AS DECIMAL(20, 15)) > 3 -> refused: number of digits is not supported >> SELECT COUNT(*) FROM visits WHERE ROUND(cost, 2) > 3
SELECT COUNT(*) FROM visits WHERE day > DATE '2024-03-01' - INTERVAL 1.5 DAY -> refused: a whole number of one unit >> SELECT COUNT(*) FROM visits WHERE day > DATE '2024-03-01' - INTERVAL 2 DAY
SELECT ABS(age) FILTER (WHERE flag) FROM visits -> refused: FILTER >> SELECT AVG(age) FILTER (WHERE flag) FROM visits
SELECT COUNT_IF(DISTINCT flag) FROM visits -> refused: counts rows, not values >> SELECT COUNT_IF(flag) FROM visits
SELECT SUM(huge * huge * huge) FROM visits WHERE huge BETWEEN 0 AND 9000000000000000 -> refused: bounds >> SELECT SUM(CLAMP(huge, 0, 1000)) FROM visits
SELECT VARIANCE(CLAMP(huge, 0, 9000000000000000)) FROM visits -> refused: too wide >> SELECT VARIANCE(CLAMP(huge, 0, 1000)) FROM visits
SELECT SUM(CLAMP(wild, 0, 9000000000000000)) FROM visits -> answered
SELECT COUNT(*) FROM visits WHERE MAKE_DATE(2024, 13, 1) < day -> refused: no day of the calendar >> SELECT COUNT(*) FROM visits WHERE MAKE_DATE(2024, 12, 1) < day

-- functions of dates
SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('fortnight', any_day) = day -> refused: names no unit of time >> SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('week', day) = day
SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month') = day -> refused: takes a unit of time and a date >> SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', day) = day
SELECT COUNT(*) FROM visits WHERE DATE_DIFF('month') > 1 -> refused: takes a unit of time and two dates >> SELECT COUNT(*) FROM visits WHERE DATE_DIFF('month', any_day, day) > 1
SELECT COUNT(*) FROM visits WHERE DATE_SUB('month', 1, day) < day -> refused: takes a date and an interval >> SELECT COUNT(*) FROM visits WHERE DATE_SUB(day, INTERVAL 1 MONTH) < day
SELECT COUNT(*) FROM visits WHERE ADD_MONTHS(day) > day -> refused: takes a date and a number of months >> SELECT COUNT(*) FROM visits WHERE ADD_MONTHS(day, 1) > day
SELECT COUNT(*) FROM visits WHERE DATE_PART(day) > 3 -> refused: takes a unit of time and a date >> SELECT COUNT(*) FROM visits WHERE DATE_PART('day', day) > 3
SELECT COUNT(*) FROM visits WHERE TO_DATE(city, 'YYYY') > day -> refused: reads constants in the formats of days >> SELECT COUNT(*) FROM visits WHERE TO_DATE(city) > day
SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', INTERVAL 1 DAY) = day -> refused: does not belong there >> SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', day + INTERVAL 1 DAY) = day
SELECT COUNT(*) FROM visits WHERE EXTRACT(fortnight FROM day) = 1 -> refused: a unit of time >> SELECT COUNT(*) FROM visits WHERE EXTRACT(week FROM day) = 1
SELECT COUNT(*) FROM visits WHERE TRUNC(day, 'ZZ') = day -> refused: does not know this unit of time >> SELECT COUNT(*) FROM visits WHERE TRUNC(day, 'MM') = day
SELECT COUNT(*) FROM visits WHERE SPLIT_PART(city, '/') = 'x' -> refused: a text, a separator and a number >> SELECT COUNT(*) FROM visits WHERE SPLIT_PART(city, '/', 1) = 'x'

-- functions of many names
SELECT COUNT(*) FROM visits WHERE SQUARE(age, 2) > 3 -> refused: takes 1 arguments, not 2 >> SELECT COUNT(*) FROM visits WHERE SQUARE(age) > 3
SELECT APPROX_QUANTILES(age, 1000) FROM visits -> refused: a constant from 1 to 100 >> SELECT APPROX_QUANTILES(age, 4) FROM visits
SELECT COUNT(*) FROM visits WHERE DECODE(ward, 'A') = 1 -> refused: keys with their values >> SELECT COUNT(*) FROM visits WHERE DECODE(ward, 'A', 1, 0) = 1
SELECT SUM(TRUNC(cost, 1)) FROM visits -> refused: to some digits is that of released values >> SELECT TRUNC(SUM(cost), 1) FROM visits
SELECT WIDTH_BUCKET(age, 0.0000000001, 70, 7) AS b, COUNT(*) FROM visits GROUP BY b -> refused: edges that are no decimals >> SELECT WIDTH_BUCKET(age, 0, 70, 7) AS b, COUNT(*) FROM visits GROUP BY b
SELECT CONCAT_WS('-') AS k, COUNT(*) FROM visits GROUP BY k -> refused: takes a separator and texts >> SELECT CONCAT_WS('-', ward, flag) AS k, COUNT(*) FROM visits GROUP BY k

-- joins and subqueries
SELECT COUNT(*) FROM visits a SEMI JOIN people b -> refused: has a partner >> SELECT COUNT(*) FROM visits a SEMI JOIN people b ON a.person = b.person
SELECT COUNT(*) FROM visits SEMI JOIN people USING (person) == SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM people p WHERE v.person = p.person)
SELECT COUNT(*) FROM visits a ANTI JOIN people b ON a.person = b.person == SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM people p WHERE v.person = p.person)
SELECT COUNT(*) FROM visits a LEFT SEMI JOIN wards b ON a.ward = b.ward AND b.floor > 1 -> answered
SELECT COUNT(*) FROM visits a SEMI JOIN visits b ON a.ward = b.ward -> refused: person >> SELECT COUNT(*) FROM visits a SEMI JOIN visits b ON a.person = b.person AND a.ward = b.ward
SELECT COUNT(*) FROM (SELECT * FROM visits JOIN people ON visits.person = people.person) AS t -> refused: two joined tables have a column >> SELECT COUNT(*) FROM (SELECT visits.person FROM visits JOIN people ON visits.person = people.person) AS t
SELECT COUNT(*) FROM (SELECT person, age FROM visits GROUP BY person) AS t -> refused: must be grouped by or aggregated >> SELECT COUNT(*) FROM (SELECT person, MAX(age) AS age FROM visits GROUP BY person) AS t
SELECT COUNT(*) FROM (SELECT person FROM visits GROUP BY person HAVING COUNT(*)) AS t -> refused: must be a condition >> SELECT COUNT(*) FROM (SELECT person FROM visits GROUP BY person HAVING COUNT(*) > 1) AS t
SELECT COUNT(*) FROM (SELECT DISTINCT person, COUNT(*) AS n FROM visits GROUP BY person) AS t -> refused: DISTINCT >> SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) AS t
SELECT COUNT(*) FROM (SELECT person FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY day) = 1) AS t -> refused: other people >> SELECT COUNT(*) FROM (SELECT person, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n FROM visits) AS t WHERE n = 1
SELECT COUNT(*) FROM (SELECT person, PERCENT_RANK() OVER (PARTITION BY person ORDER BY day) AS n FROM visits) AS t WHERE n = 0 -> refused: PERCENT_RANK >> SELECT COUNT(*) FROM (SELECT person, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n FROM visits) AS t WHERE n = 1
SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM (SELECT * FROM (SELECT * FROM (SELECT * FROM visits) a) b) c) d) e -> refused: levels of subqueries >> SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM (SELECT * FROM visits) a) b) c
SELECT COUNT(*) FROM (SELECT person FROM visits INTERSECT ALL SELECT person FROM people) AS t -> refused: pairs equal rows >> SELECT COUNT(*) FROM (SELECT person FROM visits INTERSECT SELECT person FROM people) AS t
SELECT COUNT(*) FROM (SELECT person, age FROM visits EXCEPT SELECT person, born FROM people) AS t -> refused: compares one column >> SELECT COUNT(*) FROM (SELECT person FROM visits EXCEPT SELECT person FROM people) AS t
SELECT COUNT(*) FROM (SELECT person, NULL AS x FROM visits UNION ALL SELECT person, NULL FROM people) AS t -> refused: a column of NULL alone >> SELECT COUNT(*) FROM (SELECT person FROM visits UNION ALL SELECT person FROM people) AS t
SELECT COUNT(*) FROM wards w, visits v FULL JOIN people p ON v.person = p.person -> refused: FULL JOIN >> SELECT COUNT(*) FROM visits v FULL JOIN people p ON v.person = p.person

-- groups and released values
SELECT 'x' AS x FROM visits GROUP BY ROLLUP () -> refused: ROLLUP >> SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)
SELECT ward, CUME_DIST() OVER (ORDER BY r) FROM (SELECT ward, RANK() OVER (ORDER BY COUNT(*)) AS r FROM visits GROUP BY ward) AS t == SELECT ward, COUNT(*) FROM visits GROUP BY ward
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING RANK() OVER (ORDER BY COUNT(*)) = 1 -> refused: is computed after it >> SELECT ward, COUNT(*) FROM visits GROUP BY ward QUALIFY RANK() OVER (ORDER BY COUNT(*)) = 1
SELECT DP_INTERVAL_LOW(COUNT(*)) + 1 FROM visits -> refused: stands alone in its column >> SELECT DP_INTERVAL_LOW(COUNT(*)) FROM visits
SELECT ROUND(AVG(age), COUNT(*)) FROM visits -> refused: ROUND keeps a constant number of digits >> SELECT ROUND(AVG(age), 2) FROM visits
SELECT ward, (COUNT(*) > 3) < (COUNT(*) > 5) FROM visits GROUP BY ward -> refused: conditions have no order >> SELECT ward, (COUNT(*) > 3) = (COUNT(*) > 5) FROM visits GROUP BY ward
SELECT day, COUNT(*) FROM visits GROUP BY day HAVING day > 'soon' -> refused: a text that is none >> SELECT day, COUNT(*) FROM visits GROUP BY day HAVING day > '2024-05-01'
SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t GROUP BY ROLLUP (ward) -> refused: over released rows >> SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t
SELECT ward, n, MAX(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t GROUP BY ward -> refused: neither grouped by nor inside an aggregate >> SELECT ward, MAX(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t GROUP BY ward
SELECT * FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t GROUP BY ward -> refused: has no value for a group >> SELECT ward, MAX(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t GROUP BY ward
SELECT SUM(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN age PRECEDING AND CURRENT ROW) FROM visits GROUP BY ward -> refused: needs whole numbers >> SELECT SUM(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM visits GROUP BY ward
SELECT LAG(COUNT(*), age) OVER (ORDER BY ward) FROM visits GROUP BY ward -> refused: a constant distance >> SELECT LAG(COUNT(*), 1) OVER (ORDER BY ward) FROM visits GROUP BY ward
SELECT COUNT(DISTINCT COUNT(*)) OVER () FROM visits GROUP BY ward -> refused: DISTINCT in a window >> SELECT COUNT(COUNT(*)) OVER () FROM visits GROUP BY ward
SELECT score, day, CDF(age, 10) FROM visits GROUP BY score, day -> refused: groups with a distribution each >> SELECT ward, HISTOGRAM(age, 100) FROM visits GROUP BY ward
SELECT LOWER(COUNT(*)) FROM visits -> refused: of released values needs >> SELECT COUNT(*) FROM visits
SELECT MAX() FROM visits -> refused: lacks an argument >> SELECT MAX(age) FROM visits
SELECT 'x' AS x FROM visits GROUP BY 'x' -> answered
SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.person AND COUNT(*) > 1 -> refused: an aggregate >> SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.person

-- the clause of a vendor
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon) COUNT(*) FROM visits -> refused: name = value pairs >> SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, epsilon = 2) COUNT(*) FROM visits -> refused: is given twice >> SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1.5) COUNT(*) FROM visits -> refused: must be a whole number >> SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) person FROM visits) AS t -> refused: is said twice >> SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM (SELECT person FROM visits) AS t

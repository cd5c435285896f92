-- Each line is a question and its outcome.
--   question == other          both are one question: whoever asks the second after the first pays nothing
--   question -> answered
--   question -> refused: words of the message >> a question that is answered instead

-- names of tables and columns
SELECT COUNT(*) FROM main.visits == SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM clinic.main.visits == SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM main.visits WHERE main.visits.age > 3 == SELECT COUNT(*) FROM visits WHERE age > 3
SELECT COUNT(*) FROM main.visits AS v WHERE v.age > 3 == SELECT COUNT(*) FROM visits WHERE age > 3
SELECT COUNT(*) FROM "main"."visits" == SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM `visits` WHERE `visits`.`age` > 3 == SELECT COUNT(*) FROM visits WHERE age > 3
SELECT COUNT(*) FROM `clinic.main.visits` == SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM VISITS WHERE Age > 3 == SELECT COUNT(*) FROM visits WHERE age > 3
SELECT COUNT(*) FROM "VISITS" == SELECT COUNT(*) FROM visits
FROM visits SELECT COUNT(*) == SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM main.nowhere -> refused: no such table is declared >> SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM information_schema.visits -> refused: the schema is the engine's own >> SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM a.visits v JOIN b.visits w ON v.person = w.person -> refused: is named under two schemas >> SELECT COUNT(*) FROM visits v JOIN visits w ON v.person = w.person
SELECT COUNT(*) FROM main.visits WHERE other.visits.age > 3 -> refused: a table that FROM does not name >> SELECT COUNT(*) FROM main.visits WHERE visits.age > 3
SELECT COUNT(*) FROM main.v WITH -> refused: not SQL that can be read >> SELECT COUNT(*) FROM visits

-- comments, semicolons, white space
SELECT COUNT(*) FROM visits; == SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM visits ; ; == SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM visits -- all of them == SELECT COUNT(*) FROM visits
SELECT COUNT(*) /* of rows */ FROM visits == SELECT COUNT(*) FROM visits
/* how many? */ SELECT COUNT(*) FROM visits == SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM visits WHERE city = '-- no comment' -> answered
SELECT COUNT(*) FROM visits WHERE city = '/* no comment */' -> answered
SELECT COUNT(*) FROM visits /* one /* two */ */ -> refused: can be read in two ways >> SELECT COUNT(*) FROM visits /* one two */
SELECT COUNT(*) FROM visits /* without end -> refused: can be read in two ways >> SELECT COUNT(*) FROM visits /* with one */
SELECT COUNT(*) FROM visits; SELECT 1 -> refused: one question is one statement >> SELECT COUNT(*) FROM visits

-- joins
SELECT COUNT(*) FROM visits, people WHERE visits.person = people.person == SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.person
SELECT COUNT(*) FROM visits v, people p WHERE p.person = v.person AND age > 40 == SELECT COUNT(*) FROM visits JOIN people ON people.person = visits.person WHERE age > 40
SELECT COUNT(*) FROM visits v, people p, wards w WHERE v.person = p.person AND w.ward = v.ward == SELECT COUNT(*) FROM visits v JOIN people p ON v.person = p.person JOIN wards w ON w.ward = v.ward
SELECT floor, COUNT(*) FROM wards, visits WHERE wards.ward = visits.ward GROUP BY floor -> answered
SELECT AVG(born) FROM wards w, people p, visits v WHERE v.person = p.person AND w.ward = v.ward -> answered
SELECT COUNT(*) FROM visits INNER JOIN people USING (person) == SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.person
SELECT ward, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY ward == SELECT visits.ward, COUNT(*) FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY visits.ward
SELECT ward, COUNT(*) FROM visits NATURAL JOIN wards GROUP BY ward == SELECT visits.ward, COUNT(*) FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY visits.ward
SELECT AVG(born) FROM people RIGHT JOIN visits ON visits.person = people.person == SELECT AVG(born) FROM visits LEFT JOIN people ON visits.person = people.person
SELECT COUNT(*) FROM visits CROSS JOIN wards == SELECT COUNT(*) FROM visits, wards
SELECT COUNT(*) FROM visits v JOIN people p USING (person) JOIN wards USING (ward) -> answered
SELECT COUNT(*) FROM visits, people -> refused: must be joined on the person >> SELECT COUNT(*) FROM visits, people WHERE visits.person = people.person
SELECT COUNT(*) FROM visits FULL JOIN people ON visits.person = people.person -> answered
SELECT COUNT(*) FROM visits FULL OUTER JOIN people USING (person) == SELECT COUNT(*) FROM visits FULL JOIN people ON visits.person = people.person
SELECT COUNT(*) FROM visits FULL JOIN wards ON visits.ward = wards.ward -> refused: belong to nobody >> SELECT COUNT(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward
SELECT COUNT(*) FROM people SEMI JOIN visits ON people.person = visits.person == SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits WHERE people.person = visits.person)
SELECT COUNT(*) FROM people p ANTI JOIN visits v ON p.person = v.person WHERE born > 1950 -> answered
SELECT COUNT(*) FROM visits JOIN people USING (born) -> refused: is not a column of both sides >> SELECT COUNT(*) FROM visits JOIN people USING (person)
SELECT COUNT(*) FROM visits LEFT JOIN people -> refused: has no condition >> SELECT COUNT(*) FROM visits LEFT JOIN people USING (person)
SELECT COUNT(*) FROM visits, people WHERE age > born -> refused: must be joined on the person >> SELECT COUNT(*) FROM visits, people WHERE age > born AND visits.person = people.person

-- how many rows of the answer
SELECT TOP 2 ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC == SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2
SELECT TOP (2) ward, COUNT(*) AS n FROM visits GROUP BY ward -> answered
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC FETCH FIRST 2 ROWS ONLY -> answered
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n FETCH NEXT 1 ROW ONLY -> answered
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n LIMIT 2 OFFSET 1 -> answered
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n LIMIT 2::INTEGER OFFSET CAST(1 AS BIGINT) -> answered
SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT CAST(2.5 AS INTEGER) -> refused: must be a plain number >> SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 2
SELECT ward, COUNT(*) FROM visits GROUP BY ward FETCH FIRST 50 PERCENT ROWS ONLY -> refused: PERCENT >> SELECT ward, COUNT(*) FROM visits GROUP BY ward FETCH FIRST 2 ROWS ONLY
SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 2 OFFSET ward -> refused: must be a plain number >> SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 2 OFFSET 1

-- arithmetic and conditions
SELECT age // 10 AS decade, COUNT(*) FROM visits GROUP BY decade -> answered
SELECT score // 3 AS third, COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT MOD(age, 10) AS digit, COUNT(*) FROM visits GROUP BY digit == SELECT age % 10 AS digit, COUNT(*) FROM visits GROUP BY digit
SELECT SUM(IFNULL(age, 0)) FROM visits == SELECT SUM(COALESCE(age, 0)) FROM visits
SELECT SUM(NVL(age, 0)) FROM visits == SELECT SUM(COALESCE(age, 0)) FROM visits
SELECT SUM(ISNULL(age, 0)) FROM visits == SELECT SUM(COALESCE(age, 0)) FROM visits
SELECT SUM(ZEROIFNULL(age)) FROM visits == SELECT SUM(COALESCE(age, 0)) FROM visits
SELECT COUNT(NULLIFZERO(age)) FROM visits == SELECT COUNT(NULLIF(age, 0)) FROM visits
SELECT SUM(IIF(age > 40, 1, 0)) FROM visits == SELECT SUM(CASE WHEN age > 40 THEN 1 ELSE 0 END) FROM visits
SELECT SUM(IF(age > 40, 1, 0)) FROM visits == SELECT SUM(CASE WHEN age > 40 THEN 1 ELSE 0 END) FROM visits
SELECT SUM(NVL2(age, 1, 0)) FROM visits == SELECT SUM(CASE WHEN age IS NULL THEN 0 ELSE 1 END) FROM visits
SELECT DECODE(ward, 'A', 1, 'B', 2, 0) AS k, COUNT(*) FROM visits GROUP BY k == SELECT CASE WHEN ward = 'A' THEN 1 WHEN ward = 'B' THEN 2 ELSE 0 END AS k, COUNT(*) FROM visits GROUP BY k
SELECT SUM(CLAMP(SAFE_DIVIDE(cost, age), 0, 9)) FROM visits == SELECT SUM(CLAMP(cost / age, 0, 9)) FROM visits
SELECT AVG(SQUARE(age)) FROM visits == SELECT AVG(POWER(age, 2)) FROM visits
SELECT AVG(age ** 2) FROM visits == SELECT AVG(POWER(age, 2)) FROM visits
SELECT AVG(LOG10(age + 1)) FROM visits -> answered
SELECT AVG(LOG2(age + 1)) FROM visits -> answered
SELECT AVG(LOG(age + 1)) FROM visits -> refused: base 10 in others >> SELECT AVG(LN(age + 1)) FROM visits
SELECT SUM(TRUNC(cost)) FROM visits -> answered
SELECT COUNT(*) FROM visits WHERE city NOT LIKE 'b%' == SELECT COUNT(*) FROM visits WHERE NOT city LIKE 'b%'
SELECT COUNT(*) FROM visits WHERE city NOT ILIKE 'b%' == SELECT COUNT(*) FROM visits WHERE NOT city ILIKE 'b%'
SELECT COUNT(*) FROM visits WHERE city NOT LIKE 'b!%' ESCAPE '!' -> answered
SELECT COUNT(*) FROM visits WHERE CONTAINS(city, 'er') == SELECT COUNT(*) FROM visits WHERE city LIKE '%er%'
SELECT COUNT(*) FROM visits WHERE ENDS_WITH(city, 'n') == SELECT COUNT(*) FROM visits WHERE city LIKE '%n'
SELECT COUNT(*) FROM visits WHERE CONTAINS(city, '%') == SELECT COUNT(*) FROM visits WHERE city LIKE '%!%%' ESCAPE '!'
SELECT COUNT(*) FROM visits WHERE STARTSWITH(city, 'b') == SELECT COUNT(*) FROM visits WHERE STARTS_WITH(city, 'b')
SELECT COUNT(*) FROM visits WHERE age NOT BETWEEN 18 AND 65 -> answered
SELECT COUNT(*) FROM visits WHERE age NOT IN (1, 2) -> answered
SELECT COUNT(*) FROM visits WHERE age IS NOT DISTINCT FROM 3 -> answered
SELECT COUNT(*) FROM visits WHERE flag = 1 == SELECT COUNT(*) FROM visits WHERE flag = TRUE
SELECT COUNT(*) FROM visits WHERE flag IS TRUE -> answered
SELECT COUNT(*) FROM visits WHERE CAST(cost AS DECIMAL(10, 2)) > 3 -> answered
SELECT COUNT(*) FROM visits WHERE cost::INT > 3 -> answered
SELECT COUNT(*) FROM visits WHERE TRY_CAST(city AS INTEGER) > 3 -> answered
SELECT WIDTH_BUCKET(age, 0, 100, 10) AS bucket, COUNT(*) FROM visits GROUP BY bucket -> answered
SELECT WIDTH_BUCKET(age, 100, 0, 10) AS bucket, COUNT(*) FROM visits GROUP BY bucket -> refused: low < high >> SELECT WIDTH_BUCKET(age, 0, 100, 10) AS bucket, COUNT(*) FROM visits GROUP BY bucket
SELECT WIDTH_BUCKET(age, 0, score, 10) AS bucket, COUNT(*) FROM visits GROUP BY bucket -> refused: needs constants >> SELECT WIDTH_BUCKET(age, 0, 100, 10) AS bucket, COUNT(*) FROM visits GROUP BY bucket
SELECT huge // 10 AS k, COUNT(*) FROM visits GROUP BY k -> refused: needs a number with bounds >> SELECT CLAMP(huge, 0, 99) // 10 AS k, COUNT(*) FROM visits GROUP BY k
SELECT age // score AS k, COUNT(*) FROM visits GROUP BY k -> refused: a constant of at least 1 >> SELECT age // 10 AS k, COUNT(*) FROM visits GROUP BY k

-- aggregates
SELECT COUNT_IF(age > 40) FROM visits == SELECT COUNT(*) FILTER (WHERE age > 40) FROM visits
SELECT COUNTIF(flag) FROM visits == SELECT COUNT(*) FILTER (WHERE flag) FROM visits
SELECT COUNT_IF(age > 40) FILTER (WHERE flag) FROM visits -> answered
SELECT AVG(flag) FROM visits == SELECT AVG(CAST(flag AS INTEGER)) FROM visits
SELECT AVG(age > 40) FROM visits == SELECT AVG(CAST(age > 40 AS INTEGER)) FROM visits
SELECT SUM(flag) FROM visits == SELECT SUM(CAST(flag AS INTEGER)) FROM visits
SELECT VAR(age) FROM visits == SELECT VARIANCE(age) FROM visits
SELECT VAR_SAMP(age) FROM visits == SELECT VARIANCE(age) FROM visits
SELECT VARP(age) FROM visits == SELECT VAR_POP(age) FROM visits
SELECT STDEV(age) FROM visits == SELECT STDDEV(age) FROM visits
SELECT STD(age) FROM visits == SELECT STDDEV(age) FROM visits
SELECT STDEVP(age) FROM visits == SELECT STDDEV_POP(age) FROM visits
SELECT APPROX_COUNT_DISTINCT(city) FROM visits == SELECT COUNT(DISTINCT city) FROM visits
SELECT APPROX_DISTINCT(city) FROM visits == SELECT COUNT(DISTINCT city) FROM visits
SELECT APPROX_QUANTILE(age, 0.9) FROM visits == SELECT QUANTILE(age, 0.9) FROM visits
SELECT APPROX_PERCENTILE(age, 0.9) FROM visits == SELECT QUANTILE(age, 0.9) FROM visits
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) FROM visits == SELECT QUANTILE(age, 0.9) FROM visits
SELECT APPROX_MEDIAN(age) FROM visits == SELECT MEDIAN(age) FROM visits
SELECT APPROX_QUANTILES(score, 2) FROM visits == SELECT QUANTILES(score, [0, 0.5, 1]) FROM visits
SELECT AVG(b) FROM (SELECT person, AVG(flag) AS b FROM visits GROUP BY person) AS t -> answered
SELECT COUNT(1) FROM visits -> answered
SELECT SUM(DISTINCT age) FROM visits -> answered
SELECT VAR(COUNT(*)) FROM visits -> refused: cannot contain another aggregate >> SELECT VAR(age) FROM visits
SELECT ANY_VALUE(age) FROM visits -> refused: belongs to one row >> SELECT MEDIAN(age) FROM visits

-- groups
SELECT ward FROM visits GROUP BY ward == SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY ward
SELECT DISTINCT ward FROM visits == SELECT ward FROM visits GROUP BY ward
SELECT DISTINCT ward, flag FROM visits WHERE age > 40 ORDER BY ward -> answered
SELECT city FROM visits GROUP BY city -> answered
SELECT DISTINCT city FROM visits == SELECT city FROM visits GROUP BY city
SELECT DISTINCT person FROM visits -> refused: one group per person would release people >> SELECT COUNT(DISTINCT person) FROM visits
SELECT ward AS w, COUNT(*) FROM visits GROUP BY w == SELECT ward, COUNT(*) FROM visits GROUP BY ward
SELECT age > 40 AS old, COUNT(*) FROM visits GROUP BY old == SELECT age > 40, COUNT(*) FROM visits GROUP BY 1
SELECT ward, flag, COUNT(*) FROM visits GROUP BY ALL == SELECT ward, flag, COUNT(*) FROM visits GROUP BY ward, flag
SELECT COUNT(*) FROM visits GROUP BY ALL -> answered
SELECT age + 1 AS next, COUNT(*) FROM visits WHERE next > 3 GROUP BY next == SELECT age + 1, COUNT(*) FROM visits WHERE age + 1 > 3 GROUP BY age + 1

-- dates
SELECT COUNT(*) FROM visits WHERE day = '2024-03-01' == SELECT COUNT(*) FROM visits WHERE day = DATE '2024-03-01'
SELECT COUNT(*) FROM visits WHERE day BETWEEN '2024-03-01' AND '2024-03-31' == SELECT COUNT(*) FROM visits WHERE day BETWEEN DATE '2024-03-01' AND DATE '2024-03-31'
SELECT COUNT(*) FROM visits WHERE day IN ('2024-03-01', '2024-03-02') -> answered
SELECT COUNT(*) FROM visits WHERE '2024-03-01' <= day == SELECT COUNT(*) FROM visits WHERE day >= DATE '2024-03-01'
SELECT COUNT(*) FROM visits WHERE moment >= '2024-03-01' == SELECT COUNT(*) FROM visits WHERE moment >= TIMESTAMP '2024-03-01 00:00:00'
SELECT COUNT(*) FROM visits WHERE DATE(moment) = '2024-03-01' == SELECT COUNT(*) FROM visits WHERE CAST(moment AS DATE) = DATE '2024-03-01'
SELECT COUNT(*) FROM visits WHERE day = 'soon' -> refused: is not a date that can be read >> SELECT COUNT(*) FROM visits WHERE day = '2024-01-31'
SELECT COUNT(*) FROM visits WHERE day = '2024-03-01 10:00:00' -> refused: is not a date that can be read >> SELECT COUNT(*) FROM visits WHERE day = '2024-03-01'
SELECT DATE_TRUNC(any_day, MONTH), COUNT(*) FROM visits GROUP BY 1 == SELECT DATE_TRUNC('month', any_day), COUNT(*) FROM visits GROUP BY 1
SELECT DATETRUNC(month, day), COUNT(*) FROM visits GROUP BY 1 == SELECT DATE_TRUNC('month', day), COUNT(*) FROM visits GROUP BY 1
SELECT TRUNC(day, 'MM'), COUNT(*) FROM visits GROUP BY 1 == SELECT DATE_TRUNC('month', day), COUNT(*) FROM visits GROUP BY 1
SELECT TIMESTAMP_TRUNC(moment, MONTH), COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT DATE_TRUNC(any_day, ISOWEEK), COUNT(*) FROM visits GROUP BY 1 == SELECT DATE_TRUNC('week', any_day), COUNT(*) FROM visits GROUP BY 1
SELECT DATE_TRUNC(any_day, WEEK), COUNT(*) FROM visits GROUP BY 1 -> refused: begins weeks on Sunday >> SELECT DATE_TRUNC('week', any_day), COUNT(*) FROM visits GROUP BY 1
SELECT DATE_TRUNC(day, MONTH), COUNT(*) FROM visits GROUP BY 1 == SELECT DATE_TRUNC('month', day), COUNT(*) FROM visits GROUP BY 1
SELECT DATE_TRUNC(MONTH, day), COUNT(*) FROM visits GROUP BY 1 == SELECT DATE_TRUNC('month', day), COUNT(*) FROM visits GROUP BY 1
SELECT COUNT(*) FROM visits v JOIN people p ON v.person = p.person AND DATE_TRUNC(day, YEAR) > '2024-02-01' == SELECT COUNT(*) FROM visits v JOIN people p ON v.person = p.person AND DATE_TRUNC('year', day) > '2024-02-01'
SELECT COUNT(*) FROM visits WHERE DATE_DIFF(day, any_day, MONTH) > 3 == SELECT COUNT(*) FROM visits WHERE DATE_DIFF('month', any_day, day) > 3
SELECT COUNT(*) FROM visits WHERE DATE_TRUNC(month, year) IS NULL -> refused: quote the unit >> SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', day) IS NULL
SELECT COUNT(*) FROM visits WHERE DATE_TRUNC(day, WEEK) IS NULL -> refused: begins weeks on Sunday >> SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('week', day) IS NULL
SELECT COUNT(*) FROM visits WHERE DATE_ADD(day, INTERVAL 3 DAY) > '2024-04-01' == SELECT COUNT(*) FROM visits WHERE day + INTERVAL 3 DAY > DATE '2024-04-01'
SELECT COUNT(*) FROM visits WHERE DATEADD(month, 3, day) > '2024-04-01' == SELECT COUNT(*) FROM visits WHERE day + INTERVAL 3 MONTH > DATE '2024-04-01'
SELECT COUNT(*) FROM visits WHERE DATE_ADD('month', 3, day) > '2024-04-01' == SELECT COUNT(*) FROM visits WHERE day + INTERVAL 3 MONTH > DATE '2024-04-01'
SELECT COUNT(*) FROM visits WHERE DATE_SUB(day, INTERVAL 1 MONTH) > '2024-04-01' == SELECT COUNT(*) FROM visits WHERE day - INTERVAL 1 MONTH > DATE '2024-04-01'
SELECT COUNT(*) FROM visits WHERE ADD_MONTHS(day, 3) > '2024-04-01' == SELECT COUNT(*) FROM visits WHERE day + INTERVAL 3 MONTH > DATE '2024-04-01'
SELECT COUNT(*) FROM visits WHERE day + 7 > '2024-04-01' == SELECT COUNT(*) FROM visits WHERE day + INTERVAL 7 DAY > DATE '2024-04-01'
SELECT COUNT(*) FROM visits WHERE day - any_day > 30 == SELECT COUNT(*) FROM visits WHERE DATE_DIFF('day', any_day, day) > 30
SELECT COUNT(*) FROM visits WHERE DATEDIFF(day, any_day, day) > 30 == SELECT COUNT(*) FROM visits WHERE DATE_DIFF('day', any_day, day) > 30
SELECT COUNT(*) FROM visits WHERE DATEDIFF(visits.day, any_day) > 30 == SELECT COUNT(*) FROM visits WHERE DATE_DIFF('day', any_day, day) > 30
SELECT COUNT(*) FROM visits WHERE DATE_DIFF(visits.day, any_day, MONTH) > 3 == SELECT COUNT(*) FROM visits WHERE DATE_DIFF('month', any_day, day) > 3
SELECT COUNT(*) FROM visits WHERE TIMESTAMPDIFF(MONTH, any_day, day) > 3 -> refused: counts whole units in some dialects >> SELECT COUNT(*) FROM visits WHERE WHOLE_UNITS('month', any_day, day) > 3
SELECT WHOLE_UNITS('year', any_day, DATE '2024-12-31') AS age, COUNT(*) FROM visits WHERE any_day > '1990-01-01' AND any_day < '2010-01-01' GROUP BY age -> answered
SELECT COUNT(*) FROM visits WHERE WHOLE_UNITS('hour', moment, TIMESTAMP '2024-02-01 12:00:00') < 36 -> answered
SELECT COUNT(*) FROM visits WHERE WHOLE_UNITS(any_day, day) > 3 -> refused: takes a unit of time and two dates >> SELECT COUNT(*) FROM visits WHERE WHOLE_UNITS('day', any_day, day) > 3
SELECT COUNT(*) FROM visits WHERE WHOLE_UNITS('dow', any_day, day) > 3 -> refused: does not know this unit >> SELECT COUNT(*) FROM visits WHERE WHOLE_UNITS('week', any_day, day) > 3
SELECT FLOOR(MONTHS_BETWEEN(DATE '2025-01-01', day)) AS m, COUNT(*) FROM visits GROUP BY m -> answered
SELECT AVG(MONTHS_BETWEEN('2025-01-01', day)) FROM visits -> answered
SELECT COUNT(*) FROM visits WHERE MONTHS_BETWEEN(moment, day) > 1 -> refused: counts from date to date >> SELECT COUNT(*) FROM visits WHERE MONTHS_BETWEEN(CAST(moment AS DATE), day) > 1
SELECT COUNT(*) FROM visits WHERE MONTHS_BETWEEN(day) > 1 -> refused: takes two dates >> SELECT COUNT(*) FROM visits WHERE MONTHS_BETWEEN(day, any_day) > 1
SELECT TIME_SLICE(day, 1, 'MONTH') AS m, COUNT(*) FROM visits GROUP BY m == SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m
SELECT COUNT(*) FROM visits WHERE TIME_SLICE(moment, 15, 'MINUTE') > TIMESTAMP '2024-01-02 10:00:00' == SELECT COUNT(*) FROM visits WHERE TIME_BUCKET(INTERVAL 15 MINUTE, moment) > TIMESTAMP '2024-01-02 10:00:00'
SELECT TIME_SLICE(day, 3, 'MONTH') AS m, COUNT(*) FROM visits GROUP BY m -> refused: are not cut alike >> SELECT DATE_TRUNC('quarter', day) AS m, COUNT(*) FROM visits GROUP BY m
SELECT DATEPART(year, day), COUNT(*) FROM visits GROUP BY 1 == SELECT EXTRACT(year FROM day), COUNT(*) FROM visits GROUP BY 1
SELECT DATE_PART('month', day), COUNT(*) FROM visits GROUP BY 1 == SELECT MONTH(day), COUNT(*) FROM visits GROUP BY 1
SELECT EXTRACT(HOUR FROM moment), COUNT(*) FROM visits GROUP BY 1 == SELECT HOUR(moment), COUNT(*) FROM visits GROUP BY 1
SELECT ISODOW(day), COUNT(*) FROM visits GROUP BY 1 == SELECT EXTRACT(ISODOW FROM day), COUNT(*) FROM visits GROUP BY 1
SELECT MONTHNAME(day), COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT DAYNAME(day) AS weekday, COUNT(*) FROM visits GROUP BY weekday -> answered
SELECT WEEKDAY(day), COUNT(*) FROM visits GROUP BY 1 -> refused: counts from Sunday in some dialects >> SELECT ISODOW(day), COUNT(*) FROM visits GROUP BY 1
SELECT STRFTIME(day, '%Y-%m'), COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT TO_CHAR(day, 'YYYY-MM'), COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT TO_CHAR(day, 'IYYY-IW'), COUNT(*) FROM visits GROUP BY 1 -> refused: DATE_TRUNC >> SELECT DATE_TRUNC('week', day), COUNT(*) FROM visits GROUP BY 1
SELECT COUNT(*) FROM visits WHERE day * 2 > 3 -> refused: cannot compute with dates so >> SELECT COUNT(*) FROM visits WHERE day + 2 > '2024-03-01'

-- subqueries in conditions
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE floor > 1) -> answered
SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT ward FROM wards WHERE floor > 1) -> answered
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND w.floor > 1) -> answered
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT * FROM wards WHERE wards.ward = visits.ward AND floor > 1) -> answered
SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND w.floor > 1) -> answered
SELECT COUNT(*) FROM people WHERE person IN (SELECT person FROM visits WHERE ward = 'A') -> answered
SELECT COUNT(*) FROM people WHERE person NOT IN (SELECT person FROM visits) -> answered
SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND v.age > 60) -> answered
SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND v.age = p.born) -> answered
SELECT COUNT(*) FROM people WHERE person IN (SELECT person FROM visits GROUP BY person HAVING COUNT(*) > 2) -> answered
SELECT COUNT(*) FROM visits WHERE age > 40 OR ward IN (SELECT ward FROM wards WHERE floor = 1) -> answered
SELECT SUM(CASE WHEN ward IN (SELECT ward FROM wards WHERE floor = 1) THEN 1 ELSE 0 END) FROM visits -> answered
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits WHERE age > 90) -> refused: an aggregate over several people >> SELECT COUNT(*) FROM visits WHERE person IN (SELECT person FROM visits WHERE age > 90)
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.ward = v.ward) -> refused: an aggregate over several people >> SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person = v.person)
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM wards WHERE floor > 2) -> refused: says nothing about the outer row >> SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM wards WHERE floor > 2 AND wards.ward = visits.ward)
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.floor > v.age) -> refused: other than equal columns >> SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward)
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward, floor FROM wards) -> refused: one column >> SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards)
SELECT COUNT(*) FROM visits WHERE age > (SELECT 3) == SELECT COUNT(*) FROM visits WHERE age > 3

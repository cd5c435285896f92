-- Questions about what people did and when: hours, what came before, rows of several tables.

-- times of day
SELECT EXTRACT(hour FROM moment) AS h, COUNT(*) FROM visits GROUP BY h -> answered
SELECT DATE_TRUNC('hour', moment) AS h, COUNT(*) FROM visits GROUP BY h -> answered
SELECT DATE_TRUNC('minute', moment) AS m, COUNT(DISTINCT person) FROM visits WHERE moment >= '2024-03-01 10:00:00' GROUP BY m ORDER BY m -> answered
SELECT TIME_BUCKET(INTERVAL '15 minutes', moment) AS b, COUNT(*) FROM visits GROUP BY b -> answered
SELECT TIME_BUCKET(INTERVAL 1 HOUR, moment) AS b, COUNT(*) FROM visits GROUP BY b == SELECT DATE_TRUNC('hour', moment) AS b, COUNT(*) FROM visits GROUP BY b
SELECT TIME_BUCKET(INTERVAL 7 HOUR, moment) AS b, COUNT(*) FROM visits GROUP BY b -> refused: divide a day >> SELECT TIME_BUCKET(INTERVAL 6 HOUR, moment) AS b, COUNT(*) FROM visits GROUP BY b
SELECT AVG(CLAMP(DATE_DIFF('minute', day, moment), 0, 120)) FROM visits -> answered
SELECT AVG(CLAMP(EXTRACT(EPOCH FROM (moment - day)), 0, 3600)) FROM visits -> answered
SELECT AVG(CLAMP(EPOCH(moment) - EPOCH(day), 0, 3600)) FROM visits -> answered
SELECT COUNT(*) FROM visits WHERE moment - day < INTERVAL '30 minutes' -> answered
SELECT COUNT(*) FROM visits WHERE INTERVAL 90 SECOND > moment - day -> answered
SELECT COUNT(*) FROM visits WHERE moment - day < INTERVAL 1 MONTH -> refused: no length of its own >> SELECT COUNT(*) FROM visits WHERE moment - day < INTERVAL 30 DAY
SELECT COUNT(*) FROM visits WHERE moment < INTERVAL 1 HOUR -> refused: difference of two times >> SELECT COUNT(*) FROM visits WHERE moment - day < INTERVAL 1 HOUR
SELECT COUNT(*) FROM visits WHERE moment < day + INTERVAL '30' MINUTE -> answered
SELECT COUNT(*) FROM visits WHERE DATE_ADD(moment, INTERVAL 10 MINUTE) > '2024-02-01 08:00:00' -> answered
SELECT COUNT(*) FROM visits WHERE TIMESTAMP_DIFF(moment, day, SECOND) < 90 == SELECT COUNT(*) FROM visits WHERE DATE_DIFF('second', day, moment) < 90
SELECT COUNT(*) FROM visits WHERE moment AT TIME ZONE 'UTC' >= '2024-02-01' == SELECT COUNT(*) FROM visits WHERE moment >= '2024-02-01'
SELECT COUNT(*) FROM visits WHERE moment AT TIME ZONE 'Europe/Zurich' >= '2024-02-01' -> refused: whose own zone is not known >> SELECT COUNT(*) FROM visits WHERE moment + INTERVAL 1 HOUR >= '2024-02-01'
SELECT LAST_DAY(day) AS m, COUNT(*) FROM visits GROUP BY m -> answered

-- the least and greatest dates
SELECT MIN(day), MAX(day) FROM visits -> answered
SELECT ward, MAX(day) FROM visits GROUP BY ward -> answered
SELECT MEDIAN(day), MIN(moment) FROM visits -> answered
SELECT ward, MAX(day) AS last FROM visits GROUP BY ward HAVING MAX(day) > '2024-06-01' ORDER BY last -> answered

-- pieces of text
SELECT LTRIM(city, '/') AS c, COUNT(*) FROM visits GROUP BY c -> answered
SELECT COUNT(*) FROM visits WHERE RTRIM(city) = 'zug' -> answered
SELECT COUNT(*) FROM visits WHERE TRIM(BOTH '/' FROM city) = 'zug' == SELECT COUNT(*) FROM visits WHERE RTRIM(LTRIM(city, '/'), '/') = 'zug'
SELECT REPLACE(ward, 'A', 'a') AS w, COUNT(*) FROM visits GROUP BY w -> answered
SELECT SPLIT_PART(city, '/', 1) AS c, COUNT(*) FROM visits GROUP BY c -> answered
SELECT SPLIT_PART(city, '/', 0) AS c, COUNT(*) FROM visits GROUP BY c -> refused: SPLIT_PART >> SELECT SPLIT_PART(city, '/', 1) AS c, COUNT(*) FROM visits GROUP BY c
SELECT REPLACE(city, ward, '') AS c, COUNT(*) FROM visits GROUP BY c -> refused: takes constants >> SELECT REPLACE(city, 'A', '') AS c, COUNT(*) FROM visits GROUP BY c
SELECT LPAD(CAST(score AS TEXT), 3, '0') AS s, COUNT(*) FROM visits GROUP BY s -> answered

-- comparisons
SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 40 AND 20 -> answered
SELECT COUNT(*) FROM visits WHERE (ward, flag) IN (('A', TRUE), ('B', FALSE)) -> answered
SELECT COUNT(*) FROM visits WHERE (ward, flag) IN (('A', TRUE), ('B')) -> refused: rows of as many constants >> SELECT COUNT(*) FROM visits WHERE (ward, flag) IN (('A', TRUE))
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age DESC) FROM visits == SELECT PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY age) FROM visits
SELECT COUNT(DISTINCT CASE WHEN flag THEN person END) FROM visits -> answered

-- rows of several tables
SELECT COUNT(*) FROM (SELECT person FROM visits UNION ALL SELECT person FROM people) t -> answered
WITH t AS (SELECT person, age AS x FROM visits UNION ALL SELECT person, born FROM people) SELECT SUM(CLAMP(x, 0, 100)) FROM t -> answered
WITH t (who, x) AS (SELECT person, age FROM visits UNION ALL SELECT person, born FROM people) SELECT COUNT(DISTINCT who) FROM t -> answered
SELECT src, COUNT(*) FROM (SELECT person, 'visit' AS src FROM visits UNION ALL SELECT person, 'birth' FROM people) t GROUP BY src -> answered
SELECT COUNT(*) FROM (SELECT person FROM visits UNION ALL SELECT person FROM people UNION ALL SELECT person FROM visits) t -> answered
SELECT COUNT(DISTINCT person) FROM (SELECT person FROM visits UNION SELECT person FROM people) t -> answered
SELECT COUNT(*) FROM (SELECT person FROM visits INTERSECT SELECT person FROM people) t -> answered
SELECT COUNT(*) FROM (SELECT person FROM people EXCEPT SELECT person FROM visits) t -> answered
SELECT 'a' AS t, COUNT(*) FROM visits UNION ALL SELECT 'b', COUNT(*) FROM people -> answered
SELECT COUNT(*) FROM (SELECT person FROM visits UNION ALL SELECT ward FROM wards) t -> refused: belong to nobody >> SELECT COUNT(*) FROM visits JOIN wards USING (ward)
SELECT COUNT(*) FROM (SELECT person, age FROM visits UNION ALL SELECT person FROM people) t -> refused: different numbers of columns >> SELECT COUNT(*) FROM (SELECT person FROM visits UNION ALL SELECT person FROM people) t

-- what came before, and so far
SELECT COUNT(*) FROM (SELECT person, ward, LAG(ward) OVER (PARTITION BY person ORDER BY day) AS before FROM visits) t WHERE ward = 'A' AND before = 'B' -> answered
SELECT AVG(CLAMP(DATE_DIFF('day', before, day), 0, 90)) FROM (SELECT person, day, LAG(day) OVER (PARTITION BY person ORDER BY day) AS before FROM visits) t -> answered
SELECT COUNT(*) FROM (SELECT person, LEAD(day) OVER (PARTITION BY person ORDER BY day) AS next FROM visits) t WHERE next IS NULL -> answered
SELECT ward, COUNT(*) FROM (SELECT person, ward FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY person ORDER BY day DESC) = 1) t GROUP BY ward -> answered
SELECT COUNT(*) FROM (SELECT person, SUM(cost) OVER (PARTITION BY person ORDER BY day) AS running FROM visits) t WHERE running > 20 -> answered
SELECT COUNT(*) FROM (SELECT person, age, AVG(age) OVER (PARTITION BY person) AS mean FROM visits) t WHERE age > mean -> answered
SELECT COUNT(*) FROM (SELECT person, ROW_NUMBER() OVER (PARTITION BY person, ward ORDER BY day) AS n FROM visits) t WHERE n = 1 -> answered
SELECT first, COUNT(*) FROM (SELECT person, FIRST_VALUE(ward) OVER (PARTITION BY person ORDER BY day) AS first FROM visits) t GROUP BY first -> answered
SELECT SUM(fresh) FROM (SELECT person, CASE WHEN DATE_DIFF('minute', LAG(moment) OVER (PARTITION BY person ORDER BY moment), moment) > 30 THEN 1 ELSE 0 END AS fresh FROM visits) t -> answered
SELECT COUNT(*) FROM (SELECT person, RANK() OVER (PARTITION BY ward ORDER BY age) AS r FROM visits) t WHERE r = 1 -> refused: other people's rows >> SELECT COUNT(*) FROM (SELECT person, RANK() OVER (PARTITION BY person ORDER BY age) AS r FROM visits) t WHERE r = 1
SELECT COUNT(*) FROM (SELECT person, NTILE(4) OVER (PARTITION BY person ORDER BY age) AS r FROM visits) t WHERE r = 1 -> answered

-- bounds that conditions imply
SELECT SUM(huge) FROM visits WHERE huge BETWEEN 0 AND 900 == SELECT SUM(CLAMP(huge, 0, 900)) FROM visits WHERE huge BETWEEN 0 AND 900
SELECT AVG(wild) FROM visits WHERE 0 <= wild AND wild < 1.5 == SELECT AVG(CLAMP(wild, 0, 1.5)) FROM visits WHERE 0 <= wild AND wild < 1.5
SELECT MAX(wild) FROM visits WHERE NOT (wild < -3 OR wild > 3.5) == SELECT MAX(CLAMP(wild, -3, 3.5)) FROM visits WHERE NOT (wild < -3 OR wild > 3.5)
SELECT SUM(huge) FILTER (WHERE huge BETWEEN 0 AND 9) FROM visits == SELECT SUM(CLAMP(huge, 0, 9)) FILTER (WHERE huge BETWEEN 0 AND 9) FROM visits
SELECT AVG(CASE WHEN huge < 10 THEN 10 WHEN huge > 90 THEN 90 ELSE huge END) FROM visits == SELECT AVG(CASE WHEN huge < 10 THEN 10 WHEN huge > 90 THEN 90 ELSE CLAMP(huge, 10, 90) END) FROM visits
SELECT SUM(CASE WHEN huge BETWEEN 0 AND 50 THEN huge ELSE 0 END) FROM visits == SELECT SUM(CASE WHEN huge BETWEEN 0 AND 50 THEN CLAMP(huge, 0, 50) ELSE 0 END) FROM visits
SELECT SUM(CLAMP(huge, 0, 9)) FROM visits WHERE huge BETWEEN 2 AND 3 -> answered
SELECT SUM(huge) FROM visits WHERE huge > 3 -> refused: the values have no bounds >> SELECT SUM(huge) FROM visits WHERE huge > 3 AND huge < 100
SELECT SUM(huge) FROM visits WHERE huge > 3 OR huge < 9 -> refused: the values have no bounds >> SELECT SUM(huge) FROM visits WHERE huge > 3 AND huge < 9
SELECT SUM(huge) FROM visits WHERE score BETWEEN 0 AND 3 -> refused: the values have no bounds >> SELECT SUM(huge) FROM visits WHERE huge BETWEEN 0 AND 3
SELECT SUM(CASE WHEN huge BETWEEN 0 AND 50 THEN 0 ELSE huge END) FROM visits -> refused: the values have no bounds >> SELECT SUM(CASE WHEN huge BETWEEN 0 AND 50 THEN huge ELSE 0 END) FROM visits

-- years of weeks, names, quotients as keys, shares as decimals, lists of a public table
SELECT EXTRACT(isoyear FROM day) AS y, COUNT(*) FROM visits GROUP BY y == SELECT ISOYEAR(day) AS y, COUNT(*) FROM visits GROUP BY y
SELECT DATE_PART('isoyear', day) AS y, COUNT(*) FROM visits GROUP BY y == SELECT YEAROFWEEKISO(day) AS y, COUNT(*) FROM visits GROUP BY y
SELECT WEEKOFYEAR(day) AS w, COUNT(*) FROM visits GROUP BY w == SELECT EXTRACT(week FROM day) AS w, COUNT(*) FROM visits GROUP BY w
SELECT EOMONTH(day) AS d, COUNT(*) FROM visits GROUP BY d == SELECT LAST_DAY(day) AS d, COUNT(*) FROM visits GROUP BY d
SELECT DATENAME(month, day) AS m, COUNT(*) FROM visits GROUP BY m == SELECT MONTHNAME(day) AS m, COUNT(*) FROM visits GROUP BY m
SELECT DATENAME(year, day) AS y, COUNT(*) FROM visits GROUP BY y -> refused: names days of the week and months >> SELECT DATENAME(weekday, day) AS y, COUNT(*) FROM visits GROUP BY y
SELECT age / 10 AS k, COUNT(*) AS n FROM visits GROUP BY k ORDER BY k -> answered
SELECT AVG(CAST(flag AS DOUBLE)) FROM visits -> answered
SELECT REGR_SXX(age, score), REGR_SYY(age, score), REGR_SXY(age, score) FROM visits -> answered
SELECT COUNT(*) FROM visits WHERE ward = ANY (SELECT ward FROM wards) == SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards)
SELECT COUNT(*) FROM (SELECT * FROM visits WHERE ward IN (SELECT ward FROM wards) AND person IN (SELECT person FROM people)) -> answered
SELECT COUNT(*) FROM visits WHERE (day, any_day) OVERLAPS (DATE '2024-02-01', DATE '2024-03-01') -> refused: compare the ends >> SELECT COUNT(*) FROM visits WHERE day < DATE '2024-03-01' AND any_day > DATE '2024-02-01'
SELECT w, COUNT(*) FROM (SELECT person, FIRST(ward ORDER BY day) AS w FROM visits GROUP BY person) GROUP BY w -> answered

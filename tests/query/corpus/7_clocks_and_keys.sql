-- Clocks of other zones, one row of each person's, and groups that a question names itself.

-- clocks
SELECT COUNT(*) FROM visits WHERE moment AT TIME ZONE 'UTC' AT TIME ZONE 'Mars/Olympus' > '2024-02-01' -> refused: names no time zone >> SELECT COUNT(*) FROM visits WHERE moment AT TIME ZONE 'UTC' > '2024-02-01'
SELECT COUNT(*) FROM visits WHERE moment AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Zurich' > '2024-02-01' -> refused: of a time without bounds >> SELECT COUNT(*) FROM visits WHERE moment + INTERVAL 1 HOUR > '2024-02-01'
SELECT COUNT(*) FROM visits WHERE CAST(day AS TIMESTAMP) AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Zurich' > '2024-02-01' -> answered
SELECT COUNT(*) FROM visits WHERE DATETIME(CAST(day AS TIMESTAMP), 'Asia/Tokyo') > '2024-02-01' == SELECT COUNT(*) FROM visits WHERE FROM_UTC_TIMESTAMP(CAST(day AS TIMESTAMP), 'Asia/Tokyo') > '2024-02-01'
SELECT COUNT(*) FROM visits WHERE DATETIME(CAST(day AS TIMESTAMP), 'Asia/Tokyo') > '2024-02-01' == SELECT COUNT(*) FROM visits WHERE CONVERT_TIMEZONE('UTC', 'Asia/Tokyo', CAST(day AS TIMESTAMP)) > '2024-02-01'
SELECT COUNT(*) FROM visits WHERE CONVERT_TIMEZONE('Asia/Tokyo', 'UTC', moment) > '2024-02-01' -> refused: times that are in UTC >> SELECT COUNT(*) FROM visits WHERE CONVERT_TIMEZONE('UTC', 'UTC', moment) > '2024-02-01'
SELECT COUNT(*) FROM visits WHERE TIMEZONE('UTC') > '2024-02-01' -> refused: takes a zone and a time >> SELECT COUNT(*) FROM visits WHERE TIMEZONE('UTC', moment) > '2024-02-01'
SELECT COUNT(*) FROM visits WHERE FROM_UTC_TIMESTAMP(moment) > '2024-02-01' -> refused: takes a time and a zone >> SELECT COUNT(*) FROM visits WHERE FROM_UTC_TIMESTAMP(moment, 'UTC') > '2024-02-01'
SELECT COUNT(*) FROM visits WHERE day AT TIME ZONE 'UTC' > '2024-02-01' -> refused: needs a timestamp >> SELECT COUNT(*) FROM visits WHERE day > '2024-02-01'
SELECT COUNT(*) FROM visits WHERE moment > TIMESTAMP 'noon+02:00' -> refused: cannot be read >> SELECT COUNT(*) FROM visits WHERE moment > TIMESTAMP '2024-02-01 12:00:00Z'
SELECT COUNT(*) FROM visits WHERE CAST(moment AS TIME) BETWEEN '09:00' AND '17:00' == SELECT COUNT(*) FROM visits WHERE moment::TIME >= TIME '9:00' AND moment::TIME <= '17:00:00'
SELECT COUNT(*) FROM visits WHERE CAST(moment AS TIME) > 9 -> refused: is compared with another one >> SELECT COUNT(*) FROM visits WHERE CAST(moment AS TIME) > '09:00'
SELECT COUNT(*) FROM visits WHERE CAST(moment AS TIME) > '25:00' -> refused: cannot be read >> SELECT COUNT(*) FROM visits WHERE CAST(moment AS TIME) > '23:00'
SELECT CAST(moment AS TIME) AS t, COUNT(*) FROM visits GROUP BY t -> refused: is a time of day >> SELECT TO_CHAR(moment, 'HH24:MI') AS t, COUNT(*) FROM visits GROUP BY t

-- weeks and days made of parts
SELECT YEARWEEK(day, 3) AS w, COUNT(*) FROM visits GROUP BY w == SELECT YEARWEEK(day, 1) AS w, COUNT(*) FROM visits GROUP BY w
SELECT YEARWEEK(day) AS w, COUNT(*) FROM visits GROUP BY w -> refused: begins weeks on Sunday in some >> SELECT YEARWEEK(day, 3) AS w, COUNT(*) FROM visits GROUP BY w
SELECT DATE_TRUNC(any_day, WEEK(MONDAY)) AS w, COUNT(*) FROM visits GROUP BY w == SELECT DATE_TRUNC('week', any_day) AS w, COUNT(*) FROM visits GROUP BY w
SELECT DATE_TRUNC(day, WEEK(SUNDAY)) AS w, COUNT(*) FROM visits GROUP BY w -> answered
SELECT MAKE_DATE(YEAR(day), MONTH(day), 1) AS m, COUNT(*) FROM visits GROUP BY m == SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m
SELECT DATEFROMPARTS(YEAR(day), 1, 1) AS y, COUNT(*) FROM visits GROUP BY y == SELECT DATE_TRUNC('year', day) AS y, COUNT(*) FROM visits GROUP BY y
SELECT COUNT(*) FROM visits WHERE MAKE_DATE(2000 + score, 2, age) < day -> answered
SELECT COUNT(*) FROM visits WHERE MAKE_DATE(2024, 2) < day -> refused: takes a year, a month and a day >> SELECT COUNT(*) FROM visits WHERE MAKE_DATE(2024, 2, 1) < day

-- one row of each person's
SELECT w, COUNT(*) FROM (SELECT person, ARG_MIN(ward, day) AS w FROM visits GROUP BY person) GROUP BY w == SELECT w, COUNT(*) FROM (SELECT person, MIN_BY(ward, day) AS w FROM visits GROUP BY person) GROUP BY w
SELECT w, COUNT(*) FROM (SELECT person, MAX_BY(ward, day) FILTER (WHERE flag) AS w FROM visits GROUP BY person) GROUP BY w -> answered
SELECT AVG(a) FROM (SELECT person, ward, LAST(age ORDER BY day DESC) AS a FROM visits GROUP BY person, ward HAVING COUNT(*) > 1) -> answered
SELECT w, COUNT(*) FROM (SELECT person, ANY_VALUE(ward) AS w FROM visits GROUP BY person) GROUP BY w == SELECT w, COUNT(*) FROM (SELECT person, MAX(ward) AS w FROM visits GROUP BY person) GROUP BY w
SELECT ward, FIRST(age ORDER BY day) FROM visits GROUP BY ward -> refused: belongs to one row >> SELECT ward, MODE(age) FROM visits GROUP BY ward
SELECT AVG(a) FROM (SELECT person, ARG_MIN(age, MIN(day)) AS a FROM visits GROUP BY person) -> refused: is picked among rows >> SELECT AVG(a) FROM (SELECT person, ARG_MIN(age, day) AS a FROM visits GROUP BY person)
SELECT AVG(a) FROM (SELECT ward, ARG_MIN(age, day) AS a FROM visits GROUP BY ward) -> refused: lets one row see other people's rows >> SELECT AVG(a) FROM (SELECT person, ARG_MIN(age, day) AS a FROM visits GROUP BY person)

-- groups that the question names
SELECT city, COUNT(*) AS n FROM visits WHERE city IN ('bern', 'basel') GROUP BY city -> answered
SELECT APPROX_TOP_COUNT(city, 5) FROM visits == SELECT city AS value, COUNT(*) AS count FROM visits GROUP BY city ORDER BY COUNT(*) DESC LIMIT 5
SELECT APPROX_TOP_K(ward, 2) FROM visits WHERE age > 30 == SELECT APPROX_TOP_COUNT(ward, 2) FROM visits WHERE age > 30
SELECT APPROX_TOP_SUM(ward, age, 2) FROM visits == SELECT ward AS value, SUM(age) AS sum FROM visits GROUP BY ward ORDER BY SUM(age) DESC LIMIT 2
SELECT ward, APPROX_TOP_K(city, 2) FROM visits GROUP BY ward -> refused: is a table of its own >> SELECT APPROX_TOP_K(city, 2) FROM visits
SELECT s.m, COUNT(v.age) AS n FROM GENERATE_SERIES(DATE '2024-02-01', DATE '2024-04-01', INTERVAL 1 MONTH) AS s (m) LEFT JOIN visits v ON DATE_TRUNC('month', v.day) = s.m GROUP BY s.m -> answered
SELECT m, COUNT(v.age) AS n FROM UNNEST(GENERATE_DATE_ARRAY('2024-02-01', '2024-02-29', INTERVAL 1 WEEK)) AS m LEFT JOIN visits v ON v.day = m GROUP BY m -> answered
WITH hours AS (SELECT UNNEST(GENERATE_SERIES(8, 17)) AS h) SELECT h, COUNT(v.age) AS n FROM hours LEFT JOIN visits v ON HOUR(v.moment) = hours.h AND v.flag GROUP BY h ORDER BY h -> answered
SELECT s.c, COUNT(*) AS n FROM (VALUES ('bern'), ('basel')) AS s (c) JOIN visits v ON v.city = s.c GROUP BY s.c -> answered
SELECT s.c, COUNT(*) AS n FROM (VALUES ('bern'), ('basel')) AS s (c) LEFT JOIN visits v ON v.city = s.c GROUP BY s.c -> refused: counts one row for a value that nobody has >> SELECT s.c, COUNT(v.age) AS n FROM (VALUES ('bern'), ('basel')) AS s (c) LEFT JOIN visits v ON v.city = s.c GROUP BY s.c
SELECT s.c, COUNT(v.age) AS n FROM GENERATE_SERIES(1, 1000000) AS s (c) LEFT JOIN visits v ON v.age = s.c GROUP BY s.c -> refused: needs constant ends >> SELECT s.c, COUNT(v.age) AS n FROM GENERATE_SERIES(1, 100) AS s (c) LEFT JOIN visits v ON v.age = s.c GROUP BY s.c
SELECT s.c, COUNT(v.age) AS n FROM UNNEST(['bern']) AS s (c) LEFT JOIN visits v ON v.city > s.c GROUP BY s.c -> refused: needs a condition that equates it >> SELECT s.c, COUNT(v.age) AS n FROM UNNEST(['bern']) AS s (c) LEFT JOIN visits v ON v.city = s.c GROUP BY s.c
SELECT COUNT(*) FROM GENERATE_SERIES(1, 9) AS s (c) -> refused: is about nobody >> SELECT COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = LAPLACE_THRESHOLD) city, COUNT(*) FROM visits GROUP BY city -> answered
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = PUBLIC_GROUPS) city, COUNT(*) FROM visits GROUP BY city -> refused: not known beforehand >> SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = PUBLIC_GROUPS) city, COUNT(*) FROM visits WHERE city IN ('bern') GROUP BY city
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = ALL) ward, COUNT(*) FROM visits GROUP BY ward -> refused: is not one that is known >> SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = PUBLIC_GROUPS) ward, COUNT(*) FROM visits GROUP BY ward
SELECT d::date AS d, COUNT(v.person) FROM GENERATE_SERIES(DATE '2024-01-01', DATE '2024-01-09', INTERVAL 1 DAY) AS d LEFT JOIN visits v ON v.day = d::date GROUP BY 1 -> answered
SELECT w, COUNT(*) FROM (SELECT person, NTH_VALUE(ward, 2) OVER (PARTITION BY person ORDER BY day) AS w FROM visits) GROUP BY w -> answered
SELECT COUNT(*) FROM TABLE(SNOWFLAKE.DATA_PRIVACY.ESTIMATE_REMAINING_DP_AGGREGATES('visits')) -> refused: is about the budget >> SELECT COUNT(*) FROM visits
SELECT AVG(city / 2) FROM visits -> refused: /: needs numbers but got text >> SELECT AVG(CLAMP(CAST(city AS INTEGER), 0, 9) / 2) FROM visits

-- dates made of each person's aggregates
SELECT m, COUNT(*) FROM (SELECT person, DATE_TRUNC('month', MIN(day)) AS m FROM visits GROUP BY person) GROUP BY m -> answered
SELECT COUNT(*) FROM (SELECT person FROM visits GROUP BY person HAVING DATE_DIFF('day', MIN(day), MAX(day)) > 3) -> answered

-- What analysts ask of a table of events, in every shape.

-- totals
SELECT COUNT(*) FROM visits -> answered
SELECT COUNT(*) AS visits FROM visits WHERE flag -> answered
SELECT COUNT(*) FROM visits WHERE NOT flag -> answered
SELECT COUNT(DISTINCT person) AS people FROM visits -> answered
SELECT COUNT(DISTINCT person) FROM visits WHERE ward = 'A' -> answered
SELECT COUNT(DISTINCT city) FROM visits -> answered
SELECT COUNT(age) FROM visits -> answered
SELECT COUNT(*) - COUNT(age) AS missing FROM visits -> answered
SELECT SUM(cost) FROM visits -> answered
SELECT SUM(cost) AS total, AVG(cost) AS mean FROM visits -> answered
SELECT AVG(age), MEDIAN(age) FROM visits -> answered
SELECT MIN(age), MAX(age) FROM visits -> answered
SELECT STDDEV(age), VARIANCE(age) FROM visits -> answered
SELECT MODE(ward) FROM visits -> answered
SELECT QUANTILE(cost, 0.95) FROM visits -> answered
SELECT SUM(cost) / COUNT(DISTINCT person) AS per_person FROM visits -> answered
SELECT ROUND(AVG(cost), 2) FROM visits -> answered
SELECT 100.0 * COUNT_IF(flag) / COUNT(*) AS percent FROM visits -> answered
SELECT AVG(CASE WHEN age >= 65 THEN 1.0 ELSE 0.0 END) AS share FROM visits -> answered
SELECT COUNT(*) FILTER (WHERE age < 18) AS children, COUNT(*) FILTER (WHERE age >= 18) AS adults FROM visits -> answered
SELECT SUM(CASE WHEN ward = 'A' THEN cost ELSE 0 END) FROM visits -> answered
SELECT SUM(cost * 1.19) FROM visits -> answered
SELECT AVG(cost) * 12 AS yearly FROM visits -> answered
SELECT COUNT(*) * 2 FROM visits -> answered
SELECT CAST(AVG(age) AS INTEGER) FROM visits -> answered
SELECT COALESCE(AVG(age), 0) FROM visits -> answered
SELECT SUM(LEAST(cost, 20)) FROM visits -> answered
SELECT SUM(GREATEST(score, 0)) FROM visits -> answered
SELECT AVG(ABS(temp)) FROM visits -> answered
SELECT SUM(age * score) / SUM(score) AS weighted FROM visits -> answered
SELECT AVG(temp * 9 / 5 + 32) FROM visits -> answered
SELECT AVG(LENGTH(ward)) FROM visits -> answered
SELECT AVG(LENGTH(city)) FROM visits -> refused: have no bounds >> SELECT AVG(CLAMP(LENGTH(city), 0, 9)) FROM visits
SELECT age / 10 * 10, COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT (age / 10) * 10 + 5 AS middle, COUNT(*) FROM visits GROUP BY middle ORDER BY middle -> answered
SELECT 100 - cost / 10 AS d, COUNT(*) FROM visits GROUP BY d -> answered
SELECT age - age % 10 AS decade, COUNT(*) FROM visits GROUP BY decade ORDER BY decade -> answered
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM visits GROUP BY decade ORDER BY decade -> answered
SELECT ROUND(age, -1) AS near, COUNT(*) FROM visits GROUP BY near -> answered
SELECT age * 2 + 0.5 AS d, COUNT(*) FROM visits GROUP BY d -> answered
SELECT temp / 10 * 10, COUNT(*) FROM visits GROUP BY 1 -> refused: too fine to be group keys >> SELECT FLOOR(temp / 10) * 10, COUNT(*) FROM visits GROUP BY 1
SELECT MODE(city) FROM visits WHERE city IN ('Bern', 'Zug', 'Chur') -> answered
SELECT ward, MODE() WITHIN GROUP (ORDER BY city) FROM visits WHERE city = 'Bern' OR city = 'Zug' GROUP BY ward -> answered
SELECT MODE(huge) FROM visits WHERE huge BETWEEN 1 AND 5 -> answered
SELECT MODE(city) FILTER (WHERE city IN ('Bern', 'Zug')) FROM visits -> answered
SELECT MODE(city) FROM visits WHERE city <> 'Bern' -> refused: declared, or listed by WHERE >> SELECT MODE(city) FROM visits WHERE city IN ('Chur', 'Zug')
SELECT ward, QUANTILES(age, [0.25, 0.5, 0.75]) FROM visits GROUP BY ward == SELECT ward, PERCENTILE_CONT([0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY age) FROM visits GROUP BY ward

-- conditions
SELECT COUNT(*) FROM visits WHERE age >= 18 AND age < 65 -> answered
SELECT COUNT(*) FROM visits WHERE age BETWEEN 18 AND 64 AND ward IN ('A', 'B') -> answered
SELECT COUNT(*) FROM visits WHERE ward <> 'A' -> answered
SELECT COUNT(*) FROM visits WHERE ward != 'A' -> answered
SELECT COUNT(*) FROM visits WHERE city LIKE 'B%' -> answered
SELECT COUNT(*) FROM visits WHERE city ILIKE '%er%' -> answered
SELECT COUNT(*) FROM visits WHERE LOWER(city) = 'bern' -> answered
SELECT COUNT(*) FROM visits WHERE TRIM(UPPER(city)) IN ('BERN', 'ZUG') -> answered
SELECT COUNT(*) FROM visits WHERE LEFT(city, 1) = 'b' -> answered
SELECT COUNT(*) FROM visits WHERE SUBSTR(city, 1, 2) = 'be' -> answered
SELECT COUNT(*) FROM visits WHERE LEN(city) > 3 -> answered
SELECT COUNT(*) FROM visits WHERE city IS NULL OR city = '' -> answered
SELECT COUNT(*) FROM visits WHERE age IS NOT NULL -> answered
SELECT COUNT(*) FROM visits WHERE cost > 10 AND (ward = 'A' OR flag) -> answered
SELECT COUNT(*) FROM visits WHERE CASE WHEN flag THEN age > 3 ELSE age > 30 END -> answered
SELECT COUNT(*) FROM visits WHERE COALESCE(age, 0) = 0 -> answered
SELECT COUNT(*) FROM visits WHERE cost / NULLIF(age, 0) > 1 -> answered
SELECT COUNT(*) FROM visits WHERE age % 2 = 0 -> answered
SELECT COUNT(*) FROM visits WHERE ROUND(cost) = 12 -> answered
SELECT COUNT(*) FROM visits WHERE FLOOR(cost) = CEIL(cost) -> answered
SELECT COUNT(*) FROM visits WHERE SQRT(cost) > 3 OR LN(cost) > 1 OR EXP(cost / 10) > 2 -> answered
SELECT COUNT(*) FROM visits WHERE huge > 1000000 -> answered
SELECT COUNT(*) FROM visits WHERE wild > 0 -> answered
SELECT COUNT(*) FROM visits WHERE CAST(age AS TEXT) LIKE '4%' -> answered
SELECT COUNT(*) FROM visits WHERE city || ward = 'zugA' -> answered
SELECT COUNT(*) FROM visits WHERE CONCAT(city, '-', ward) = 'zug-A' -> answered
SELECT COUNT(*) FROM visits WHERE TRUE -> answered
SELECT COUNT(*) FROM visits WHERE 1 = 1 -> answered
SELECT COUNT(*) FROM visits WHERE flag IS NOT TRUE -> answered
SELECT COUNT(*) FROM visits WHERE (age, ward) = (3, 'A') -> refused: (age, ward) >> SELECT COUNT(*) FROM visits WHERE age = 3 AND ward = 'A'
SELECT COUNT(*) FROM visits WHERE city ~ '^b.*' == SELECT COUNT(*) FROM visits WHERE city LIKE 'b%'
SELECT COUNT(*) FROM visits WHERE city ~ '[bz].*' == SELECT COUNT(*) FROM visits WHERE city LIKE '%b%' OR city LIKE '%z%'
SELECT COUNT(*) FROM visits WHERE city SIMILAR TO 'b%' == SELECT COUNT(*) FROM visits WHERE city LIKE 'b%'
SELECT COUNT(*) FROM visits WHERE city > 3 -> refused: mixes text and integer >> SELECT COUNT(*) FROM visits WHERE city > 'c'

-- groups
SELECT ward, COUNT(*) FROM visits GROUP BY ward -> answered
SELECT ward, COUNT(*) FROM visits GROUP BY 1 ORDER BY 2 DESC -> answered
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 1 -> answered
SELECT ward, AVG(cost), MEDIAN(age) FROM visits GROUP BY ward -> answered
SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY ward -> answered
SELECT ward, flag, COUNT(*) FROM visits GROUP BY ward, flag -> answered
SELECT ward, flag, COUNT(*) FROM visits GROUP BY CUBE (ward, flag) -> answered
SELECT ward, flag, SUM(cost) FROM visits GROUP BY ROLLUP (ward, flag) -> answered
SELECT ward, flag, COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward), (flag), ()) -> answered
SELECT age, COUNT(*) FROM visits GROUP BY age ORDER BY age -> answered
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM visits GROUP BY decade ORDER BY decade -> answered
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS who, COUNT(*) FROM visits GROUP BY who -> answered
SELECT CASE ward WHEN 'A' THEN 'one' ELSE 'other' END AS place, COUNT(*) FROM visits GROUP BY place -> answered
SELECT ROUND(temp) AS degrees, COUNT(*) FROM visits GROUP BY degrees -> answered
SELECT SIGN(score) AS s, COUNT(*) FROM visits GROUP BY s -> answered
SELECT city, COUNT(*) FROM visits GROUP BY city -> answered
SELECT city, ward, AVG(cost) FROM visits GROUP BY city, ward -> answered
SELECT UPPER(city) AS c, COUNT(*) FROM visits GROUP BY c -> answered
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > 10 -> answered
SELECT ward, AVG(age) AS a FROM visits GROUP BY ward HAVING AVG(age) > 40 AND ward <> 'C' -> answered
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n BETWEEN 5 AND 50 -> answered
SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward DESC NULLS LAST -> answered
SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 3 -> answered
SELECT ward, COUNT(*) FROM visits WHERE ward IS NOT NULL GROUP BY ward -> answered
SELECT COUNT(*) FROM visits HAVING COUNT(*) > 3 -> answered
SELECT cost, COUNT(*) FROM visits GROUP BY cost -> answered
SELECT temp, COUNT(*) FROM visits GROUP BY temp -> refused: too fine to be group keys >> SELECT FLOOR(temp) AS c, COUNT(*) FROM visits GROUP BY c
SELECT person, COUNT(*) FROM visits GROUP BY person -> refused: would release people >> SELECT ward, COUNT(*) FROM visits GROUP BY ward
SELECT moment, COUNT(*) FROM visits GROUP BY moment -> refused: too fine >> SELECT DATE_TRUNC('day', moment), COUNT(*) FROM visits GROUP BY 1
SELECT ward, age, COUNT(*) FROM visits GROUP BY ward -> refused: must be grouped by or aggregated >> SELECT ward, age, COUNT(*) FROM visits GROUP BY ward, age
SELECT ward, COUNT(*) FROM visits -> refused: must be grouped by or aggregated >> SELECT ward, COUNT(*) FROM visits GROUP BY ward
SELECT * FROM visits -> refused: a private row cannot be released >> SELECT COUNT(*) FROM visits
SELECT age FROM visits -> refused: asks for rows of people >> SELECT AVG(age) FROM visits
SELECT visits.* FROM visits -> refused: a private row cannot be released >> SELECT COUNT(*) FROM visits

-- time
SELECT day, COUNT(*) FROM visits GROUP BY day -> answered
SELECT DATE_TRUNC('month', day) AS month, COUNT(*) FROM visits GROUP BY month ORDER BY month -> answered
SELECT DATE_TRUNC('quarter', day) AS q, SUM(cost) FROM visits GROUP BY q -> answered
SELECT YEAR(day) AS y, MONTH(day) AS m, COUNT(*) FROM visits GROUP BY y, m -> answered
SELECT EXTRACT(DOW FROM day) AS weekday, COUNT(*) FROM visits GROUP BY weekday -> answered
SELECT QUARTER(day), COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT WEEK(day), COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT DAYOFYEAR(day), COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT HOUR(moment) AS h, COUNT(*) FROM visits GROUP BY h ORDER BY h -> answered
SELECT MINUTE(moment), COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT CAST(moment AS DATE) AS d, COUNT(*) FROM visits GROUP BY d -> answered
SELECT COUNT(*) FROM visits WHERE day >= DATE '2024-06-01' AND day < DATE '2024-07-01' -> answered
SELECT COUNT(*) FROM visits WHERE day >= '2024-06-01'::DATE -> answered
SELECT COUNT(*) FROM visits WHERE YEAR(day) = 2024 AND MONTH(day) IN (6, 7, 8) -> answered
SELECT COUNT(*) FROM visits WHERE day > DATE '2024-12-01' - INTERVAL 90 DAY -> answered
SELECT COUNT(*) FROM visits WHERE day > DATE '2024-12-01' - INTERVAL '90' DAY -> answered
SELECT COUNT(*) FROM visits WHERE day > DATE '2024-12-01' - INTERVAL '3 months' -> answered
SELECT COUNT(*) FROM visits WHERE moment BETWEEN '2024-01-01' AND '2024-01-31 23:59:59' -> answered
SELECT AVG(CLAMP(DATE_DIFF('day', any_day, day), 0, 365)) FROM visits -> answered
SELECT AVG(CLAMP(DATE_DIFF('week', any_day, day), 0, 52)) FROM visits -> answered
SELECT MONTH(day) AS m, COUNT(*) AS n, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY MONTH(day)) AS change FROM visits GROUP BY m -> answered
SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE -> answered
SELECT COUNT(*) FROM visits WHERE day >= CURRENT_DATE - INTERVAL '30 days' -> answered
SELECT COUNT(*) FROM visits WHERE moment > NOW() - INTERVAL 7 DAY -> answered
SELECT COUNT(*) FROM visits WHERE day > DATEADD(day, -30, GETDATE()) -> answered
SELECT COUNT(*) FROM visits WHERE moment > CURRENT_TIME -> refused: CURRENT_TIME >> SELECT COUNT(*) FROM visits WHERE moment > CURRENT_TIMESTAMP
SELECT COUNT(*) FROM visits WHERE day > NOW() -> answered
SELECT EXTRACT(hour FROM day), COUNT(*) FROM visits GROUP BY 1 -> refused: a date has no hour >> SELECT EXTRACT(hour FROM moment), COUNT(*) FROM visits GROUP BY 1
SELECT EXTRACT(epoch FROM moment), COUNT(*) FROM visits GROUP BY 1 -> answered

-- distributions
SELECT HISTOGRAM(age, 6) FROM visits -> answered
SELECT HISTOGRAM(cost, [10, 20, 30]) FROM visits -> answered
SELECT ward, HISTOGRAM(score, 3) FROM visits GROUP BY ward -> answered
SELECT CDF(score) FROM visits -> answered
SELECT QUANTILES(score, [0.25, 0.5, 0.75]) FROM visits -> answered
SELECT QUANTILE(age, 0.25), QUANTILE(age, 0.5), QUANTILE(age, 0.75) FROM visits -> answered
SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age) FROM visits -> answered
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age DESC) FROM visits == SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM visits
SELECT HISTOGRAM(age, 6), COUNT(*) FROM visits -> refused: stands alone among aggregates >> SELECT HISTOGRAM(age, 6) FROM visits

-- per person
SELECT AVG(n) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) AS t -> answered
SELECT COUNT(*) FROM (SELECT person FROM visits GROUP BY person HAVING COUNT(*) >= 2) AS t -> answered
SELECT n, COUNT(*) AS people FROM (SELECT person, CLAMP(COUNT(*), 0, 3) AS n FROM visits GROUP BY person) AS t GROUP BY n -> answered
SELECT AVG(CLAMP(spent, 0, 100)) FROM (SELECT person, SUM(cost) AS spent FROM visits GROUP BY person) AS t -> answered
SELECT MEDIAN(CLAMP(spent, 0, 100)) FROM (SELECT person, SUM(cost) AS spent FROM visits GROUP BY person) AS t -> answered
WITH firsts AS (SELECT person, MIN(day) AS began FROM visits GROUP BY person) SELECT DATE_TRUNC('month', began) AS cohort, COUNT(*) FROM firsts GROUP BY cohort -> answered
WITH firsts AS (SELECT person, MIN(day) AS began FROM visits GROUP BY person) SELECT MONTH(began) AS cohort, MONTH(day) AS month, COUNT(DISTINCT visits.person) FROM visits JOIN firsts ON visits.person = firsts.person GROUP BY cohort, month -> answered
WITH t AS (SELECT person, MAX(CASE WHEN ward = 'A' THEN 1 ELSE 0 END) AS a, MAX(CASE WHEN ward = 'B' THEN 1 ELSE 0 END) AS b FROM visits GROUP BY person) SELECT SUM(a) AS step_one, SUM(a * b) AS step_two FROM t -> answered
SELECT ward, COUNT(*) FROM (SELECT DISTINCT person, ward FROM visits) AS t GROUP BY ward -> answered
SELECT wards, COUNT(*) FROM (SELECT person, COUNT(DISTINCT ward) AS wards FROM visits GROUP BY person) AS t GROUP BY wards -> answered
SELECT COUNT(*) FROM (SELECT person, MIN(age) AS low, MAX(age) AS high FROM visits GROUP BY person) AS t WHERE high - low > 1 -> answered
SELECT AVG(late) FROM (SELECT person, AVG(CASE WHEN cost > 10 THEN 1 ELSE 0 END) AS late FROM visits GROUP BY person) AS t -> answered
SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t -> answered
SELECT flag, MAX(n) FROM (SELECT ward, flag, COUNT(*) AS n FROM visits GROUP BY ward, flag) AS t GROUP BY flag HAVING MIN(n) > 0 -> answered
SELECT MEDIAN(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t -> answered
SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY age LIMIT 10) AS t -> refused: in a subquery >> SELECT COUNT(*) FROM (SELECT * FROM visits) AS t
SELECT MEDIAN(n) FROM (SELECT person, MEDIAN(age) AS n FROM visits GROUP BY person) AS t -> refused: is not supported per person >> SELECT MEDIAN(n) FROM (SELECT person, MAX(age) AS n FROM visits GROUP BY person) AS t

-- several tables
SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.person -> answered
SELECT AVG(2024 - born) FROM visits JOIN people ON visits.person = people.person WHERE ward = 'A' -> answered
SELECT born // 10 * 10 AS decade, COUNT(*) FROM people GROUP BY decade -> answered
SELECT floor, COUNT(*) FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY floor -> answered
SELECT head, COUNT(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward GROUP BY head -> answered
SELECT w.floor, AVG(v.cost) FROM visits AS v JOIN wards AS w ON v.ward = w.ward WHERE w.floor > 1 GROUP BY w.floor -> answered
SELECT COUNT(*) FROM visits a JOIN visits b ON a.person = b.person AND a.day < b.day -> answered
SELECT COUNT(*) FROM people LEFT JOIN visits ON people.person = visits.person WHERE visits.person IS NULL -> answered
WITH old AS (SELECT person FROM people WHERE born < 1950) SELECT COUNT(*) FROM visits JOIN old ON visits.person = old.person -> answered
SELECT COUNT(*) FROM wards -> refused: only public tables are named >> SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM visits JOIN people ON visits.age = people.born -> refused: must be joined on the person >> SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.person AND visits.age = people.born
SELECT COUNT(*) FROM visits v JOIN people v ON v.person = v.person -> refused: the name is used twice >> SELECT COUNT(*) FROM visits v JOIN people p ON v.person = p.person
SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM people -> answered
SELECT COUNT(*) FROM (SELECT person FROM visits UNION ALL SELECT person FROM people) AS t -> answered

-- statistics
SELECT CORR(age, cost) FROM visits -> answered
SELECT ward, CORR(age, score) FROM visits GROUP BY ward -> answered
SELECT COVAR_POP(age, cost), COVAR_SAMP(age, cost) FROM visits -> answered
SELECT REGR_SLOPE(cost, age), REGR_INTERCEPT(cost, age), REGR_R2(cost, age) FROM visits -> answered
SELECT REGR_COUNT(cost, age) FROM visits -> answered
SELECT VAR_POP(cost), STDDEV_POP(cost) FROM visits -> answered
SELECT STDDEV(cost) / AVG(cost) AS variation FROM visits -> answered
SELECT CORR(age, wild) FROM visits -> refused: have no bounds >> SELECT CORR(age, CLAMP(wild, -9, 9)) FROM visits
SELECT CORR(AVG(age), cost) FROM visits -> refused: cannot contain another aggregate >> SELECT CORR(age, cost) FROM visits
SELECT SUM(huge) FROM visits -> refused: have no bounds >> SELECT SUM(CLAMP(huge, 0, 100)) FROM visits
SELECT KURTOSIS(age) FROM visits -> answered
SELECT STRING_AGG(city, ',') FROM visits -> refused: shows what single rows hold >> SELECT city, COUNT(*) AS n FROM visits GROUP BY city
SELECT ARRAY_AGG(age) FROM visits -> refused: shows what single rows hold >> SELECT age, COUNT(*) AS n FROM visits GROUP BY age
SELECT FIRST(age) FROM visits -> refused: belongs to one row >> SELECT MIN(age) FROM visits

-- afterwards
SELECT ward, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM visits GROUP BY ward -> answered
SELECT ward, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward -> answered
SELECT ward, 100.0 * SUM(cost) / SUM(SUM(cost)) OVER () AS percent FROM visits GROUP BY ward -> answered
SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS so_far FROM visits GROUP BY day -> answered
SELECT day, AVG(COUNT(*)) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week FROM visits GROUP BY day -> answered
SELECT MONTH(day) AS m, COUNT(*) AS n, LEAD(COUNT(*)) OVER (ORDER BY MONTH(day)) FROM visits GROUP BY m -> answered
SELECT ward, flag, ROW_NUMBER() OVER (PARTITION BY ward ORDER BY COUNT(*) DESC) AS r FROM visits GROUP BY ward, flag -> answered
SELECT ward, COUNT(*) FROM visits GROUP BY ward QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 2 -> answered
SELECT * FROM (SELECT ward, COUNT(*) AS n, DENSE_RANK() OVER (ORDER BY COUNT(*)) AS r FROM visits GROUP BY ward) AS t WHERE r = 1 -> answered
SELECT ward, n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t WHERE n > 10 ORDER BY n -> answered
WITH t AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT ward, n * 2 AS twice FROM t ORDER BY twice DESC LIMIT 2 -> answered
SELECT LOWER(ward) AS w, POWER(COUNT(*), 2) AS n FROM visits GROUP BY ward -> answered
SELECT ward, CASE WHEN COUNT(*) > 10 THEN 'many' ELSE 'few' END AS size FROM visits GROUP BY ward -> answered
SELECT ward, SUM(age) OVER (ORDER BY day) FROM visits -> refused: over rows of people >> SELECT ward, SUM(SUM(age)) OVER (ORDER BY ward) FROM visits GROUP BY ward
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS r FROM visits) AS t WHERE r = 1 -> answered
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward > 3 -> refused: mixes text and a number >> SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward > 'A'
SELECT ward, NTILE(4) OVER (ORDER BY COUNT(*)) FROM visits GROUP BY ward -> answered
SELECT ward, SUM(COUNT(*)) OVER (ORDER BY ward RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) FROM visits GROUP BY ward -> refused: counts rows >> SELECT ward, SUM(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM visits GROUP BY ward

-- vendors' clauses
SELECT WITH DIFFERENTIAL_PRIVACY ward, COUNT(*) FROM visits GROUP BY ward == SELECT ward, COUNT(*) FROM visits GROUP BY ward
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-9, privacy_unit_column = person) COUNT(*) FROM visits == SELECT COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 1) ward, COUNT(*) FROM visits GROUP BY ward -> answered
SELECT ward, COUNT(*) AS n, DP_INTERVAL_LOW(COUNT(*)) AS low, DP_INTERVAL_HIGH(COUNT(*)) AS high FROM visits GROUP BY ward -> answered
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 9) ward, COUNT(*) FROM visits GROUP BY ward -> refused: can only be lowered >> SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 2) ward, COUNT(*) FROM visits GROUP BY ward
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (privacy_unit_column = city) COUNT(*) FROM visits -> refused: not the person that is declared >> SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (privacy_unit_column = person) COUNT(*) FROM visits
SELECT SUM(age, contribution_bounds_per_row => (0, 100)) FROM visits == SELECT SUM(CLAMP(age, 0, 100)) FROM visits
SELECT AVG(LEAST(age, 90), contribution_bounds_per_row => (-1, 100)) FROM visits == SELECT AVG(CLAMP(LEAST(age, 90), -1, 100)) FROM visits
SELECT SUM(age, contribution_bounds_per_row => (0, 1, 2)) FROM visits -> refused: bounds one value >> SELECT SUM(CLAMP(age, 0, 100)) FROM visits
SELECT SUM(age, contribution_bounds_per_group => (0, 100)) FROM visits == SELECT SUM(CLAMP(s, 0, 100)) FROM (SELECT person, SUM(age) AS s FROM visits GROUP BY person) t
SELECT WITH ANONYMIZATION OPTIONS (epsilon = 1, kappa = 2) ward, ANON_COUNT(*) FROM visits GROUP BY ward == SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, max_groups_contributed = 2) ward, COUNT(*) FROM visits GROUP BY ward
SELECT WITH ANONYMIZATION ANON_SUM(age CLAMPED BETWEEN 0 AND 100) FROM visits == SELECT SUM(CLAMP(age, 0, 100)) FROM visits
SELECT COUNT(*) FROM (SELECT person, age AS clamped FROM visits) WHERE clamped BETWEEN 0 AND 3 -> answered

-- words that are not understood
SELECT COUNT(*) FROM (SELECT * FROM visits) AS t (a, b) -> refused: lists other columns >> SELECT COUNT(*) FROM (SELECT person, age FROM visits) AS t (a, b)
SELECT AVG(b) FROM (SELECT person, age FROM visits) AS t (a, b) == SELECT AVG(b) FROM (SELECT person AS a, age AS b FROM visits) AS t
WITH t (who, n) AS (SELECT person, COUNT(*) FROM visits GROUP BY person HAVING COUNT(*) > 1) SELECT AVG(n) FROM t == SELECT AVG(n) FROM (SELECT person AS who, COUNT(*) AS n FROM visits GROUP BY person HAVING COUNT(*) > 1)
SELECT COUNT(*) FROM visits WHERE temp <= 0.06 + 0.01 == SELECT COUNT(*) FROM visits WHERE temp <= 0.07
SELECT CUONT(*) FROM visits -> refused: did you mean COUNT? >> SELECT COUNT(*) FROM visits
SELECT AVG(agee) FROM visits -> refused: did you mean age? >> SELECT AVG(age) FROM visits
SELECT COUNT(*) FROM vists -> refused: did you mean visits? >> SELECT COUNT(*) FROM visits
SELEC COUNT(*) FROM visits -> refused: SELECT >> SELECT COUNT(*) FROM visits
SELECT COUNT(* FROM visits -> refused: not SQL that can be read >> SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM visits WHERE -> refused: not SQL that can be read >> SELECT COUNT(*) FROM visits
SELECT COUNT(*) -> refused: is missing >> SELECT COUNT(*) FROM visits
SELECT RANDOM() < 0.5, COUNT(*) FROM visits GROUP BY 1 -> refused: not private noise >> SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM visits TABLESAMPLE (10 PERCENT) -> refused: sampling inside a question >> SELECT COUNT(*) FROM visits
WITH RECURSIVE t AS (SELECT person FROM visits) SELECT COUNT(*) FROM t -> refused: recursion >> WITH t AS (SELECT person FROM visits) SELECT COUNT(*) FROM t
SELECT COUNT(*) FROM visits FOR UPDATE -> refused: cannot lock >> SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM visits WHERE age > ? -> refused: has no value >> SELECT COUNT(*) FROM visits WHERE age > 3
SELECT COUNT(*) FROM visits WHERE age > :low -> refused: has no value >> SELECT COUNT(*) FROM visits WHERE age > 3
SELECT COUNT(*) FROM visits WHERE age > $1 -> refused: has no value >> SELECT COUNT(*) FROM visits WHERE age > 3

-- odds and ends
SELECT COUNT(*) FROM visits WHERE NVL(city, 'none') = 'none' == SELECT COUNT(*) FROM visits WHERE COALESCE(city, 'none') = 'none'
SELECT COUNT(*) FROM visits WHERE city <=> 'zug' == SELECT COUNT(*) FROM visits WHERE city IS NOT DISTINCT FROM 'zug'
SELECT MEDIAN(cost) FROM visits WHERE cost BETWEEN 1 AND 20 -> answered
SELECT ward, MAX(cost) - MIN(cost) AS range FROM visits GROUP BY ward -> answered
SELECT AVG(age) FILTER (WHERE ward = 'A') - AVG(age) FILTER (WHERE ward = 'B') AS gap FROM visits -> answered
SELECT COUNT_IF(flag) * 1.0 / NULLIF(COUNT(*), 0) AS share FROM visits -> answered
SELECT SAFE_DIVIDE(SUM(cost), COUNT(*)) FROM visits -> answered
SELECT ward, IFNULL(AVG(age), 0) FROM visits GROUP BY ward -> answered
SELECT DATE_PART('dow', day) AS weekday, COUNT(*) FROM visits GROUP BY weekday -> answered
SELECT IIF(age >= 18, 'adult', 'child') AS who, COUNT(*) FROM visits GROUP BY who -> answered
SELECT ward, flag FROM visits GROUP BY ALL ORDER BY ALL -> answered
SELECT COUNT(DISTINCT ward, flag) FROM visits -> answered
SELECT TRUNC_FORMAT(day, 'MM'), COUNT(*) FROM visits GROUP BY 1 -> refused: TRUNC_FORMAT >> SELECT TRUNC(day, 'MM'), COUNT(*) FROM visits GROUP BY 1
SELECT ROUND(cost, 1) AS c, COUNT(*) FROM visits GROUP BY c -> answered
SELECT ROUND(huge, -2) AS c, COUNT(*) FROM visits GROUP BY c -> answered
SELECT CONCAT(FLOOR(age / 10) * 10, '-', FLOOR(age / 10) * 10 + 9) AS band, COUNT(*) FROM visits GROUP BY band -> answered
SELECT CONCAT_WS('/', ward, flag) AS k, COUNT(*) FROM visits GROUP BY k == SELECT CONCAT(ward, '/', flag) AS k, COUNT(*) FROM visits GROUP BY k
SELECT IFF(age > 3, 1, 0) AS k, COUNT(*) FROM visits GROUP BY k == SELECT IF(age > 3, 1, 0) AS k, COUNT(*) FROM visits GROUP BY k
SELECT APPROX_QUANTILES(age, 100)[OFFSET(50)] AS m FROM visits == SELECT MEDIAN(age) AS m FROM visits
SELECT COUNT(*) FROM visits WHERE POSITION('er' IN city) > 0 == SELECT COUNT(*) FROM visits WHERE CONTAINS(city, 'er')
SELECT COUNT(*) FROM visits WHERE STRPOS(city, 'er') = 0 == SELECT COUNT(*) FROM visits WHERE NOT CONTAINS(city, 'er')
SELECT COUNT(*) FROM visits WHERE REGEXP_CONTAINS(city, r'er') == SELECT COUNT(*) FROM visits WHERE CONTAINS(city, 'er')
SELECT COUNT(*) FROM visits WHERE REGEXP_LIKE(city, '^(ada|zug)$') == SELECT COUNT(*) FROM visits WHERE city LIKE 'ada' OR city LIKE 'zug'
SELECT COUNT(*) FROM visits WHERE city ~* 'BERN' == SELECT COUNT(*) FROM visits WHERE city ILIKE '%BERN%'
SELECT COUNT(*) FROM visits WHERE city !~ '10%\.x$' == SELECT COUNT(*) FROM visits WHERE city NOT LIKE '%10!%.x' ESCAPE '!'
SELECT FORMAT_DATE('%Y-%m', day) AS m, COUNT(*) FROM visits GROUP BY m == SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) FROM visits GROUP BY m
SELECT DATE_FORMAT(day, '%Y-%m') AS m, COUNT(*) FROM visits GROUP BY m == SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) FROM visits GROUP BY m
SELECT TO_CHAR(day, 'Mon YYYY') AS m, COUNT(*) FROM visits GROUP BY m -> answered
SELECT STRFTIME('%H:00', moment) AS h, COUNT(*) FROM visits GROUP BY h -> answered
SELECT ward, flag, COUNT(*) FROM visits GROUP BY ward, flag WITH ROLLUP == SELECT ward, flag, COUNT(*) FROM visits GROUP BY ROLLUP (ward, flag)
SELECT COUNT(*) FROM visits WHERE ward = ANY(ARRAY['A', 'B']) == SELECT COUNT(*) FROM visits WHERE ward = 'A' OR ward = 'B'
SELECT COUNT(*) FROM visits WHERE city LIKE ANY ('a%', '%b') == SELECT COUNT(*) FROM visits WHERE city LIKE 'a%' OR city LIKE '%b'
SELECT ward, COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day DESC) AS n FROM visits) AS t WHERE n = 1 GROUP BY ward -> answered
WITH t AS (SELECT person, cost, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day, moment) AS n FROM visits) SELECT AVG(cost) FROM t WHERE n <= 2 -> answered
SELECT COUNT(*) FROM (SELECT person, ROW_NUMBER() OVER (PARTITION BY ward ORDER BY day) AS n FROM visits) AS t WHERE n = 1 -> refused: PARTITION BY the person >> SELECT COUNT(*) FROM (SELECT person, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n FROM visits) AS t WHERE n = 1
SELECT ward, COUNT(*) FROM (SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY person ORDER BY day DESC) = 1) AS t GROUP BY ward -> answered

-- groups said by windows
SELECT DISTINCT ward, MEDIAN(age) OVER (PARTITION BY ward) AS m FROM visits == SELECT ward, MEDIAN(age) AS m FROM visits GROUP BY ward
SELECT DISTINCT ward, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) OVER (PARTITION BY ward) AS p FROM visits == SELECT ward, QUANTILE(age, 0.9) AS p FROM visits GROUP BY ward
SELECT DISTINCT ward, flag, COUNT(*) OVER (PARTITION BY flag, ward) AS n FROM visits == SELECT ward, flag, COUNT(*) AS n FROM visits GROUP BY ward, flag
SELECT DISTINCT ward, COUNT(*) OVER (PARTITION BY flag) AS n FROM visits -> refused: other people's rows >> SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward
SELECT DISTINCT ward, SUM(age) OVER (PARTITION BY ward ORDER BY day) AS n FROM visits -> refused: other people's rows >> SELECT ward, SUM(age) AS n FROM visits GROUP BY ward

-- names of tools
SELECT DATE_TRUNC('day', day) AS __timestamp, COUNT(*) AS count FROM visits GROUP BY DATE_TRUNC('day', day) ORDER BY count DESC LIMIT 100 -> answered
SELECT DATE_TRUNC('month', day) AS __timestamp, COUNT(*) FROM visits GROUP BY __timestamp ORDER BY __timestamp == SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m ORDER BY m
SELECT ward, COUNT(*) FROM (SELECT person, ward, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS rn FROM visits QUALIFY rn = 1) t GROUP BY ward -> answered
SELECT COUNT(*) FROM visits AS __window -> refused: reserved >> SELECT COUNT(*) FROM visits AS v
SELECT COUNT(*) FROM (SELECT person, age AS __j FROM visits) t -> refused: reserved >> SELECT COUNT(*) FROM (SELECT person, age AS j FROM visits) t
WITH old AS MATERIALIZED (SELECT * FROM visits WHERE age > 65) SELECT ward, COUNT(*) FROM old GROUP BY ward == WITH old AS (SELECT * FROM visits WHERE age > 65) SELECT ward, COUNT(*) FROM old GROUP BY ward
SELECT m, n, RANK() OVER (ORDER BY n DESC) AS r FROM (SELECT MONTH(day) AS m, COUNT(*) AS n FROM visits GROUP BY 1) t QUALIFY r <= 3 -> answered
SELECT TOP (5) * FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t ORDER BY n DESC == SELECT TOP 5 * FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t ORDER BY n DESC

-- functions of dates and numbers
SELECT DATEADD(month, DATEDIFF(month, 0, day), 0) AS m, COUNT(*) FROM visits GROUP BY m == SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m
SELECT COUNT(*) FROM visits WHERE DATEADD(week, DATEDIFF(week, 0, day), 0) = '2024-01-01' -> refused: shifts by a constant >> SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('week', day) = '2024-01-01'
SELECT COUNT(*) FROM visits WHERE day >= PARSE_DATE('%Y-%m-%d', '2024-05-01') == SELECT COUNT(*) FROM visits WHERE day >= DATE '2024-05-01'
SELECT COUNT(*) FROM visits WHERE day >= TO_DATE('01/05/2024', 'DD/MM/YYYY') == SELECT COUNT(*) FROM visits WHERE day >= DATE '2024-05-01'
SELECT COUNT(*) FROM visits WHERE day >= STR_TO_DATE('20240501', '%Y%m%d') == SELECT COUNT(*) FROM visits WHERE day >= DATE '2024-05-01'
SELECT COUNT(*) FROM visits WHERE TO_DATE(city, 'YYYY-MM-DD') > day == SELECT COUNT(*) FROM visits WHERE CAST(city AS DATE) > day
SELECT COUNT(*) FROM visits WHERE TO_DATE(city, 'DD/MM/YYYY') > day -> refused: reads constants in the formats of days >> SELECT COUNT(*) FROM visits WHERE CAST(city AS DATE) > day
SELECT COUNT(*) FROM visits WHERE day > TO_DATE('31/02/2024', 'DD/MM/YYYY') -> refused: no day of the calendar >> SELECT COUNT(*) FROM visits WHERE day > DATE '2024-02-28'
SELECT COUNT(*) FROM visits WHERE PARSE_DATE('2024-05-01') < day -> refused: takes a text and a format >> SELECT COUNT(*) FROM visits WHERE DATE '2024-05-01' < day
SELECT COUNT(*) FROM visits WHERE JULIANDAY(day) - JULIANDAY(any_day) > 3 -> answered
SELECT RANGE_BUCKET(age, [18, 30, 45]) AS b, COUNT(*) FROM visits GROUP BY b == SELECT CASE WHEN age < 18 THEN 0 WHEN age < 30 THEN 1 WHEN age < 45 THEN 2 WHEN age >= 45 THEN 3 END AS b, COUNT(*) FROM visits GROUP BY b
SELECT RANGE_BUCKET(age, 18) AS b, COUNT(*) FROM visits GROUP BY b -> refused: takes a number and a list of edges >> SELECT RANGE_BUCKET(age, [18]) AS b, COUNT(*) FROM visits GROUP BY b
SELECT PERCENTILE_APPROX(age, [0.25, 0.5]) FROM visits == SELECT QUANTILES(age, [0.25, 0.5]) FROM visits
SELECT ward, TRY_DIVIDE(SUM(cost), COUNT(*)) AS d, TOTAL(age) AS t FROM visits GROUP BY ward == SELECT ward, SAFE_DIVIDE(SUM(cost), COUNT(*)) AS d, SUM(age) AS t FROM visits GROUP BY ward
SELECT COUNT(*) FROM visits WHERE city ~* '@(gmail|yahoo)[.]com$' -> answered

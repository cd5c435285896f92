-- Shapes, truths of many rows, labels of subtotals, and functions of what is released.

-- different values
SELECT SUM(DISTINCT age) AS s, COUNT(DISTINCT age) AS n FROM visits -> answered
SELECT ward, AVG(DISTINCT age) FROM visits GROUP BY ward -> answered
SELECT SUM(DISTINCT cost) FROM visits WHERE flag -> answered
SELECT SUM(DISTINCT ROUND(temp, 1)) FROM visits -> answered
SELECT SUM(DISTINCT age) FILTER (WHERE flag) FROM visits -> answered
SELECT SUM(DISTINCT temp) FROM visits -> refused: needs values on a grid >> SELECT SUM(DISTINCT ROUND(temp, 2)) FROM visits
SELECT SUM(DISTINCT huge) FROM visits -> refused: have no bounds >> SELECT SUM(DISTINCT CLAMP(huge, 0, 100)) FROM visits
SELECT VARIANCE(DISTINCT age) FROM visits -> refused: which values there are >> SELECT SUM(DISTINCT age) FROM visits
SELECT AVG(s) FROM (SELECT person, SUM(DISTINCT age) AS s FROM visits GROUP BY person) t -> refused: is not supported per person >> SELECT AVG(s) FROM (SELECT person, SUM(age) AS s FROM (SELECT DISTINCT person, age FROM visits) d GROUP BY person) t
SELECT ward, SUM(DISTINCT age) FROM visits GROUP BY ROLLUP (ward) -> refused: does not add up over groups >> SELECT ward, SUM(DISTINCT age) FROM visits GROUP BY ward
SELECT SUM(DISTINCT n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t -> refused: over released rows >> SELECT SUM(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t

-- shapes
SELECT SKEWNESS(age), KURTOSIS(age), AVG(age), COUNT(age) FROM visits -> answered
SELECT ward, SKEWNESS(cost) FROM visits GROUP BY ward -> answered
SELECT SKEW(age), STDDEV(age) FROM visits -> answered
SELECT KURTOSIS_POP(temp) FROM visits -> answered
SELECT SKEWNESS(age) FROM visits WHERE age = 3 -> answered
SELECT KURTOSIS(CLAMP(huge, 0, 1000000)) FROM visits -> refused: too wide for powers of 4 >> SELECT KURTOSIS(CLAMP(huge, 0, 1000000) / 1000.0) FROM visits
SELECT SKEWNESS(city) FROM visits -> refused: needs a number >> SELECT SKEWNESS(age) FROM visits
SELECT SKEWNESS(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t -> refused: over released rows >> SELECT STDDEV(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t
SELECT MAD(age) FROM visits -> refused: the median of distances >> SELECT (QUANTILE(age, 0.75) - QUANTILE(age, 0.25)) / 2 FROM visits
SELECT EXP(AVG(LN(GREATEST(cost, 0.01)))) FROM visits -> answered
SELECT GEOMEAN(GREATEST(cost, 1)) FROM visits == SELECT EXP(AVG(LN(GREATEST(cost, 1)))) FROM visits
SELECT PRODUCT(age) FROM visits -> refused: grows with every row >> SELECT GEOMEAN(GREATEST(age, 1)) FROM visits
SELECT AVG(LEAST(LENGTH(city), 20)) FROM visits -> answered
SELECT AVG(GREATEST(huge, 0)) FROM visits -> refused: have no bounds >> SELECT AVG(LEAST(GREATEST(huge, 0), 9)) FROM visits
SELECT HISTOGRAM(age) FROM visits -> answered
SELECT QUANTILE_CONT(score, [0.25, 0.5, 0.75]) FROM visits == SELECT QUANTILES(score, [0.25, 0.5, 0.75]) FROM visits

-- entropy
SELECT ENTROPY(ward) FROM visits -> answered
SELECT flag, ENTROPY(ward) AS bits, COUNT(*) AS n FROM visits WHERE age > 18 GROUP BY flag HAVING COUNT(*) > 10 ORDER BY bits DESC -> answered
SELECT ROUND(ENTROPY(city), 2) FROM visits -> answered
SELECT ENTROPY(ward), AVG(age) FROM visits -> refused: stands beside COUNT(*) only >> SELECT ENTROPY(ward), COUNT(*) FROM visits
SELECT ENTROPY(ward), ENTROPY(flag) FROM visits -> refused: of one column's values >> SELECT ENTROPY(ward) FROM visits
SELECT ENTROPY(ward) FILTER (WHERE flag) FROM visits -> refused: filter with WHERE >> SELECT ENTROPY(ward) FROM visits WHERE flag
SELECT ENTROPY(person) FROM visits -> refused: have no bounds >> SELECT ENTROPY(ward) FROM visits
SELECT AVG(e) FROM (SELECT person, ENTROPY(ward) AS e FROM visits GROUP BY person) t -> refused: is not supported per person >> SELECT AVG(e) FROM (SELECT person, COUNT(DISTINCT ward) AS e FROM visits GROUP BY person) t

-- truths of many rows
SELECT BOOL_OR(age > 100) FROM visits -> answered
SELECT ward, BOOL_AND(flag) FROM visits GROUP BY ward -> answered
SELECT EVERY(age > 18), LOGICAL_OR(flag) FROM visits -> answered
SELECT COUNT(*) FROM (SELECT person, BOOL_OR(flag) AS ever FROM visits GROUP BY person) t WHERE ever -> answered
SELECT COUNT(*) FROM (SELECT person FROM visits GROUP BY person HAVING BOOL_AND(age > 18)) t -> answered
SELECT BOOL_OR(COUNT(*) > 3) FROM visits -> refused: cannot contain another aggregate >> SELECT COUNT(*) > 3 FROM visits
SELECT BOOL_OR(flag, age) FROM visits -> refused: takes 1 arguments, not 2 >> SELECT BOOL_OR(flag) FROM visits
SELECT COUNT(*) FROM visits WHERE flag XOR age > 18 -> answered
SELECT COUNT(*) FROM visits WHERE flag OR age > 3 XOR age > 18 -> refused: beside OR can be read in two ways >> SELECT COUNT(*) FROM visits WHERE (flag OR age > 3) XOR age > 18
SELECT COUNT(*) FROM visits WHERE age & 1 = 1 -> answered
SELECT (age | 4) & 6 AS bits, COUNT(*) FROM visits GROUP BY bits -> answered
SELECT COUNT(*) FROM visits WHERE BITAND(score, 2) = 2 == SELECT COUNT(*) FROM visits WHERE score & 2 = 2
SELECT COUNT(*) FROM visits WHERE age & score = 1 -> refused: needs a constant below 2**31 >> SELECT COUNT(*) FROM visits WHERE age & 3 = 1

-- labels of subtotals
SELECT ward, flag, COUNT(*), GROUPING(ward) AS g, GROUPING(ward, flag) AS both FROM visits GROUP BY CUBE (ward, flag) -> answered
SELECT CASE WHEN GROUPING(ward) = 1 THEN 'all' ELSE ward END AS ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward) -> answered
SELECT COALESCE(ward, 'all') AS ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward) -> answered
SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward) HAVING GROUPING(ward) = 0 -> answered
SELECT ward, GROUPING(ward) AS g, COUNT(*) FROM visits GROUP BY ward -> answered
SELECT GROUPING(age), COUNT(*) FROM visits GROUP BY ROLLUP (ward) -> refused: must be grouped by >> SELECT GROUPING(ward), COUNT(*) FROM visits GROUP BY ROLLUP (ward)
SELECT GROUPING(COUNT(*)), COUNT(*) FROM visits GROUP BY ROLLUP (ward) -> refused: takes columns that are grouped by >> SELECT GROUPING(ward), COUNT(*) FROM visits GROUP BY ROLLUP (ward)
SELECT COUNT(*) FROM visits WHERE GROUPING(ward) = 1 -> refused: over rows of people >> SELECT COUNT(*) FROM visits WHERE ward = 'A'

-- functions of what is released
SELECT 'total: ' || CAST(COUNT(*) AS VARCHAR) FROM visits -> answered
SELECT CONCAT(ward, ': ', COUNT(*), ' visits') FROM visits GROUP BY ward -> answered
SELECT ward, REPEAT('#', CAST(COUNT(*) / 10 AS INTEGER)) AS bar FROM visits GROUP BY ward -> answered
SELECT LPAD(CAST(COUNT(*) AS TEXT), 6, '0') FROM visits -> answered
SELECT REVERSE(ward), INITCAP(LOWER(ward)), COUNT(*) FROM visits GROUP BY ward -> answered
SELECT REPLACE(ward, 'A', 'first') AS w, COUNT(*) FROM visits GROUP BY ward -> answered
SELECT day + INTERVAL 1 DAY AS after, COUNT(*) FROM visits GROUP BY day -> answered
SELECT DATE_DIFF('day', DATE '2024-01-01', day) AS n, COUNT(*) FROM visits GROUP BY day -> answered
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward LIKE 'A%' AND NOT STARTS_WITH(ward, 'B') -> answered
SELECT TRUNC(AVG(cost), 1) FROM visits -> answered
SELECT TRUNC(age, -1) AS tens, COUNT(*) FROM visits GROUP BY tens -> answered
SELECT PI() * COUNT(*) FROM visits -> answered
SELECT ward, STDDEV(COUNT(*)) OVER () AS spread, MEDIAN(COUNT(*)) OVER (PARTITION BY ward) FROM visits GROUP BY ward -> answered
SELECT VARIANCE(n), STDDEV_POP(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t -> answered
SELECT ward, RATIO_TO_REPORT(COUNT(*)) OVER () AS share FROM visits GROUP BY ward -> answered
SELECT ward, NTH_VALUE(ward, 2) OVER (ORDER BY COUNT(*) DESC) FROM visits GROUP BY ward -> answered
SELECT ward, STDDEV(COUNT(*)) OVER (ORDER BY ward) FROM visits GROUP BY ward -> refused: is of all rows of its part >> SELECT ward, STDDEV(COUNT(*)) OVER () FROM visits GROUP BY ward
SELECT ward, NTILE(COUNT(*)) OVER (ORDER BY ward) FROM visits GROUP BY ward -> refused: needs a constant number of parts >> SELECT ward, NTILE(4) OVER (ORDER BY ward) FROM visits GROUP BY ward
SELECT ward, NTH_VALUE(ward, 0) OVER (ORDER BY ward) FROM visits GROUP BY ward -> refused: needs a constant place >> SELECT ward, NTH_VALUE(ward, 1) OVER (ORDER BY ward) FROM visits GROUP BY ward
SELECT ward, COUNT(*) / (SELECT COUNT(*) FROM visits) FROM visits GROUP BY ward -> answered
SELECT MAX_BY(ward, age) FROM visits -> refused: belongs to one row >> SELECT MODE(ward) FROM visits WHERE age > 90
SELECT MD5(city) AS h, COUNT(*) FROM visits GROUP BY h -> refused: hides nothing >> SELECT city, COUNT(*) FROM visits GROUP BY city

-- what one person adds to a group
SELECT ward, SUM(age, contribution_bounds_per_group => (0, 5)) AS s FROM visits GROUP BY ward ORDER BY s -> answered
SELECT ward, COUNT(*, contribution_bounds_per_group => (0, 2)) AS n, COUNT(DISTINCT person) AS people FROM visits GROUP BY ward -> answered
SELECT AVG(age, contribution_bounds_per_group => (18, 65)) FROM visits WHERE flag -> answered
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = person) ward, SUM(cost, contribution_bounds_per_group => (0, 10)) FROM visits GROUP BY ward -> answered
SELECT SUM(age, contribution_bounds_per_group => (5, 0)) FROM visits -> refused: the lower one first >> SELECT SUM(age, contribution_bounds_per_group => (0, 5)) FROM visits
SELECT SUM(age, contribution_bounds_per_group => (0, age)) FROM visits -> refused: by two constants >> SELECT SUM(age, contribution_bounds_per_group => (0, 5)) FROM visits
SELECT MEDIAN(age, contribution_bounds_per_group => (0, 5)) FROM visits -> refused: bounds a COUNT, SUM or AVG >> SELECT SUM(age, contribution_bounds_per_group => (0, 5)) FROM visits
SELECT SUM(age, contribution_bounds_per_group => (0, 5)), MEDIAN(age) FROM visits -> refused: is not made of what each person adds >> SELECT SUM(age, contribution_bounds_per_group => (0, 5)), COUNT(*) FROM visits
SELECT ward, SUM(age, contribution_bounds_per_group => (0, 5)) FROM visits GROUP BY ROLLUP (ward) -> refused: needs the person's column, and plain groups >> SELECT ward, SUM(age, contribution_bounds_per_group => (0, 5)) FROM visits GROUP BY ward
SELECT AVG(s) FROM (SELECT person, SUM(age, contribution_bounds_per_group => (0, 5)) AS s FROM visits GROUP BY person) t -> refused: the groups that are released >> SELECT AVG(CLAMP(s, 0, 5)) FROM (SELECT person, SUM(age) AS s FROM visits GROUP BY person) t

-- text and ages
SELECT REVERSE(ward) AS w, COUNT(*) FROM visits GROUP BY w -> answered
SELECT INITCAP(ward) AS w, COUNT(*) FROM visits GROUP BY w -> answered
SELECT COUNT(*) FROM visits WHERE REVERSE(city) = 'nreb' -> refused: declared values >> SELECT COUNT(*) FROM visits WHERE REVERSE(ward) = 'A'
SELECT COUNT(*) FROM visits WHERE REPEAT(city, 2) = 'zugzug' == SELECT COUNT(*) FROM visits WHERE CONCAT(city, city) = 'zugzug'
SELECT COUNT(*) FROM visits WHERE REPEAT(city, 1000000) = 'x' -> refused: up to 32 >> SELECT COUNT(*) FROM visits WHERE REPEAT(city, 3) = 'x'
SELECT COUNT(*) FROM visits WHERE REPEAT(city, age) = 'x' -> refused: a constant number of times >> SELECT COUNT(*) FROM visits WHERE REPEAT(city, 3) = 'x'
SELECT TRANSLATE(city, '- ', '') AS c, COUNT(*) FROM visits GROUP BY c == SELECT REPLACE(REPLACE(city, '-', ''), ' ', '') AS c, COUNT(*) FROM visits GROUP BY c
SELECT COUNT(*) FROM visits WHERE TRANSLATE(city, 'ab', 'ba') = 'x' -> refused: exchanges characters >> SELECT COUNT(*) FROM visits WHERE REPLACE(city, 'a', 'b') = 'x'
SELECT COUNT(*) FROM visits WHERE TRANSLATE(city, ward, 'b') = 'x' -> refused: needs constant characters >> SELECT COUNT(*) FROM visits WHERE TRANSLATE(city, 'a', 'b') = 'x'
SELECT COUNT(*) FROM visits WHERE EXTRACT(YEAR FROM AGE(DATE '2024-12-31', any_day)) >= 1 -> answered
SELECT COUNT(*) FROM visits WHERE EXTRACT(YEAR FROM AGE(day)) < 100 -> answered
SELECT AVG(DATE_PART('year', AGE(DATE '2030-06-30', day))) FROM visits -> answered
SELECT COUNT(*) FROM visits WHERE AGE(day) > 3 -> refused: years, months and days at once >> SELECT COUNT(*) FROM visits WHERE EXTRACT(YEAR FROM AGE(day)) > 3
SELECT COUNT(*) FROM visits WHERE EXTRACT(MONTH FROM AGE(day)) > 3 -> refused: has whole years only >> SELECT COUNT(*) FROM visits WHERE DATE_DIFF('month', day, CURRENT_DATE) > 3
SELECT DATE_BIN('15 minutes', moment, TIMESTAMP '2024-01-01 00:00:00') AS b, COUNT(*) FROM visits GROUP BY b == SELECT TIME_BUCKET(INTERVAL '15 minutes', moment) AS b, COUNT(*) FROM visits GROUP BY b
SELECT DATE_BIN('15 minutes', moment, TIMESTAMP '2024-01-01 00:07:00') AS b, COUNT(*) FROM visits GROUP BY b -> refused: counts bins from midnight >> SELECT DATE_BIN('15 minutes', moment, TIMESTAMP '2024-01-01') AS b, COUNT(*) FROM visits GROUP BY b

-- regular expressions
SELECT COUNT(*) FROM visits WHERE city ~ '^[0-9]{5}$' -> answered
SELECT COUNT(*) FROM visits WHERE REGEXP_LIKE(city, '^[A-Z]{2}-?\d{2,3}$') -> answered
SELECT COUNT(*) FROM visits WHERE REGEXP_CONTAINS(city, r'^https?://') == SELECT COUNT(*) FROM visits WHERE city LIKE 'http://%' OR city LIKE 'https://%'
SELECT COUNT(*) FROM visits WHERE city ~ 'gr[ae]y' == SELECT COUNT(*) FROM visits WHERE city LIKE '%gray%' OR city LIKE '%grey%'
SELECT COUNT(*) FROM visits WHERE city ~ '[0-9]+' == SELECT COUNT(*) FROM visits WHERE city ~ '[0-9]'
SELECT COUNT(*) FROM visits WHERE city ~ '^ab[0-9]+$' -> answered
SELECT COUNT(*) FROM visits WHERE city ~ '^[a-z_][a-z0-9_]*$' -> answered
SELECT COUNT(*) FROM visits WHERE city ~ '[^0-9][0-9]{3}$' -> answered
SELECT COUNT(*) FROM visits WHERE city ~* '^[A-F]{8}' -> answered
SELECT COUNT(*) FROM visits WHERE city ~ '^[a-z]+@[a-z]+$' -> refused: repeats more than its last part >> SELECT COUNT(*) FROM visits WHERE city ~ '^.+@.+$'
SELECT COUNT(*) FROM visits WHERE city ~ '\d{5}' -> answered
SELECT COUNT(*) FROM visits WHERE city ~ '(ab)+' -> refused: is more than characters >> SELECT COUNT(*) FROM visits WHERE city ~ '^abab'
SELECT COUNT(*) FROM visits WHERE city ~ '[a-Z]' -> refused: letters of one case >> SELECT COUNT(*) FROM visits WHERE city ~ '^[a-zA-Z]'
SELECT COUNT(*) FROM visits WHERE city ~ 'a{3,1}' -> refused: less often than it must >> SELECT COUNT(*) FROM visits WHERE city ~ 'a{1,3}'
SELECT COUNT(*) FROM visits WHERE city ~ 'a{x}' -> refused: not a number >> SELECT COUNT(*) FROM visits WHERE city ~ 'a{2}'
SELECT COUNT(*) FROM visits WHERE city ~ '^a**$' -> refused: repeats what is repeated >> SELECT COUNT(*) FROM visits WHERE city ~ '^a*$'
SELECT COUNT(*) FROM visits WHERE city ~ '^[abc' -> refused: a class without an end >> SELECT COUNT(*) FROM visits WHERE city ~ '^[abc]'
SELECT COUNT(*) FROM visits WHERE city ~ '^[[:alpha:]]$' -> refused: more than a list of characters >> SELECT COUNT(*) FROM visits WHERE city ~ '^[a-z]$'
SELECT COUNT(*) FROM visits WHERE city ~ '^[^a]+$' -> refused: no list of characters >> SELECT COUNT(*) FROM visits WHERE city NOT LIKE '%a%'
SELECT COUNT(*) FROM visits WHERE city ~ '^[ab]{99}$' -> refused: more than 64 places >> SELECT COUNT(*) FROM visits WHERE city ~ '^[ab]{9}$'
SELECT COUNT(*) FROM visits WHERE city ~ '^a?b?c?d?e?f?$' -> refused: too many optional parts >> SELECT COUNT(*) FROM visits WHERE city ~ '^a?b?c?$'

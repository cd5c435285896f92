-- Strings against the newer parts of the language, each with what becomes of it: refused with these words, or answered within a proved bound.
-- A line may begin with [a dialect], or with [shop], where items belong to people through orders and parts through items.

-- people through keys
[shop] SELECT order_ref, COUNT(*) FROM items GROUP BY order_ref -> one group per person
[shop] SELECT who, COUNT(*) FROM orders GROUP BY who -> one group per person
[shop] SELECT o.who, COUNT(*) FROM items i JOIN orders o ON i.order_ref = o.id GROUP BY o.who -> one group per person
[shop] SELECT UPPER(o.who), COUNT(*) FROM orders o GROUP BY 1 -> answered
[shop] SELECT COUNT(*) FROM items i JOIN orders o ON i.order_ref = o.id + 0 -> person
[shop] SELECT COUNT(*) FROM items i JOIN orders o ON i.id = o.id -> person
[shop] SELECT COUNT(*) FROM items i JOIN orders o ON i.order_ref >= o.id -> person
[shop] SELECT COUNT(*) FROM items i JOIN orders o ON i.order_ref = o.id OR TRUE -> person
[shop] SELECT COUNT(*) FROM items i JOIN orders o ON COALESCE(i.order_ref, 1) = o.id -> person
[shop] SELECT COUNT(*) FROM items i, orders o -> person
[shop] SELECT COUNT(*) FROM items i SEMI JOIN items j ON i.x = j.x -> person
[shop] SELECT COUNT(*) FROM parts p JOIN orders o ON p.item_ref = o.id -> person
[shop] SELECT COUNT(*) FROM items WHERE order_ref IN (SELECT id FROM orders WHERE who = 'eve') -> answered
[shop] SELECT COUNT(*) FROM items WHERE x > (SELECT COUNT(*) FROM orders) -> let an answer decide
[shop] SELECT MAX(n) FROM (SELECT order_ref, COUNT(*) AS n FROM items GROUP BY order_ref) AS t -> answered
[shop] SELECT COUNT(*) FROM (SELECT id FROM orders UNION ALL SELECT id FROM items) AS t -> answered

-- first, last and n-th
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY day) AS n FROM visits) AS t WHERE n = 1 -> PARTITION BY
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY LOWER(person) ORDER BY day) AS n FROM visits) AS t WHERE n = 1 -> refused
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n FROM visits) AS t WHERE n <= age -> answered
SELECT n, COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n FROM visits) AS t GROUP BY n -> answered
SELECT SUM(n) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n FROM visits) AS t -> refused
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person, ward ORDER BY day) AS n FROM visits) AS t WHERE n = 1 -> answered
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY (SELECT 1)) AS n FROM visits) AS t WHERE n = 1 -> answered
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS person FROM visits) AS t WHERE n = 1 -> refused

-- DISTINCT and set operations
SELECT DISTINCT person FROM visits -> one group per person
SELECT DISTINCT ON (person) ward FROM visits -> unless ORDER BY says which
SELECT DISTINCT * FROM visits -> private row
SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits) AS t -> aggregate over several people
SELECT COUNT(*) FROM visits INTERSECT SELECT COUNT(*) FROM visits -> answered
SELECT COUNT(*) FROM (SELECT ward FROM visits EXCEPT SELECT ward FROM wards) AS t -> refused
SELECT COUNT(*) FROM (SELECT person FROM visits UNION SELECT person FROM people) AS t -> answered
SELECT COUNT(*) FROM (SELECT person FROM visits UNION ALL BY NAME SELECT ward FROM wards) AS t -> refused
(SELECT COUNT(*) FROM visits) UNION ALL (SELECT age FROM visits) -> refused
SELECT COUNT(DISTINCT age, city) FROM visits -> answered
SELECT COUNT(*) FROM visits FULL JOIN people ON visits.person = people.person -> answered
SELECT COUNT(*) FROM visits NATURAL FULL JOIN people -> answered
SELECT COUNT(*) FROM visits a FULL JOIN visits b ON a.ward = b.ward -> refused
SELECT COUNT(*) FROM (SELECT person, age FROM visits UNION ALL SELECT person, born FROM people) AS t -> answered
SELECT COUNT(*) FROM (SELECT person FROM visits UNION ALL SELECT 'ann' FROM visits) AS t -> answered
SELECT SUM(d) FROM (SELECT person, DATE_DIFF('day', LAG(day) OVER (PARTITION BY ward ORDER BY day), day) AS d FROM visits) AS t -> refused

-- dates, times and the clock
SELECT EXTRACT(epoch FROM moment), COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT COUNT(*) FROM visits WHERE moment > NOW() - INTERVAL 1 HOUR -> answered
SELECT COUNT(*) FROM visits WHERE day > DATE '9999-12-31' + INTERVAL 999999 YEAR -> at most 4000
SELECT COUNT(*) FROM visits WHERE MAKE_DATE(age, 1, 1) < day -> answered
SELECT COUNT(*) FROM visits WHERE MAKE_DATE(99999999999999999999, 1, 1) < day -> answered
SELECT SUM(DATE_DIFF('day', any_day, DATE '2024-01-01')) FROM visits -> answered
SELECT any_day, COUNT(*) FROM visits GROUP BY any_day -> answered
SELECT moment, COUNT(*) FROM visits GROUP BY moment -> too fine
SELECT COUNT(*) FROM visits WHERE day = CURRENT_DATE + random() -> refused
SELECT COUNT(*) FROM visits WHERE STRFTIME(day, city) = 'x' -> constant format
SELECT COUNT(*) FROM visits WHERE DATE_TRUNC(city, day) = day -> needs a date
SELECT COUNT(*) FROM visits WHERE day > NOW() AT TIME ZONE city -> refused

-- comments, quotes and words of dialects
[mysql] SELECT COUNT(*) FROM visits /*! UNION SELECT person FROM visits */ -> run by some servers
[mysql] SELECT COUNT(*) FROM visits WHERE city = 'a\' OR 1=1 -- ' -> answered
[mysql] SELECT COUNT(*) FROM visits WHERE city = "a" "b" -> answered
[mysql] SELECT COUNT(*) FROM visits INTO OUTFILE '/tmp/x' -> refused
[mysql] SELECT SLEEP(10), COUNT(*) FROM visits -> SLEEP
[mysql] SELECT COUNT(*) FROM visits WHERE city RLIKE '(a+)+$' -> time that depends on the data
[mysql] SELECT COUNT(*) FROM visits PROCEDURE ANALYSE() -> refused
[bigquery] SELECT COUNT(*) FROM `visits` FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01' -> refused
[bigquery] SELECT COUNT(*) FROM UNNEST([1, 2, 3]) -> refused
[bigquery] SELECT AS STRUCT person FROM visits -> refused
[bigquery] SELECT * EXCEPT (person) FROM visits -> refused
[bigquery] SELECT COUNT(*) FROM visits TABLESAMPLE SYSTEM (1 PERCENT) -> sampling
[bigquery] SELECT COUNT(*) FROM `visits` WHERE city = '''a''' OR """b""" = city -> answered
[bigquery] SELECT COUNT(*) FROM `proj.INFORMATION_SCHEMA.TABLES` -> refused
[bigquery] SELECT COUNT(*) FROM `visits`, `visits` -> refused
[snowflake] SELECT COUNT(*) FROM visits AT(OFFSET => -60) -> refused
[snowflake] SELECT COUNT(*) FROM TABLE(RESULT_SCAN(LAST_QUERY_ID())) -> refused
[snowflake] SELECT $1 FROM @stage/file -> refused
[snowflake] SELECT age:person FROM visits -> the name of a parameter only
[snowflake] SELECT COUNT(*) FROM visits WHERE city = $$a' OR '1'='1$$ -> answered
[snowflake] SELECT COUNT(*) FROM IDENTIFIER('visits') -> refused
[snowflake] SELECT COUNT(*) FROM visits MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS age > 3) -> refused
[postgres] SELECT COUNT(*) FROM pg_catalog.pg_class -> the engine's own
[postgres] SELECT pg_read_file('/etc/passwd'), COUNT(*) FROM visits -> refused
[postgres] SELECT COUNT(*) FROM visits WHERE city = E'a\'; DROP TABLE visits; --' -> answered
[postgres] SELECT COUNT(*) FROM visits WHERE city = U&'\0061' -> refused
[postgres] SELECT COUNT(*) FROM ONLY visits -> refused
[postgres] SELECT COUNT(*) FROM visits, LATERAL (SELECT person FROM people) p -> refused
[postgres] SELECT COUNT(*) FROM generate_series(1, 1000000) -> refused
[postgres] SELECT COUNT(*) FROM visits WHERE city ~ '^(a|aa)+$' -> time that depends on the data
[postgres] SELECT SUM(age / 0) FROM visits -> whole number
[tsql] SELECT COUNT(*) FROM visits; EXEC xp_cmdshell 'dir' -> one statement
[tsql] SELECT COUNT(*) FROM OPENROWSET('SQLNCLI', 'x', 'SELECT 1') -> refused
[tsql] SELECT COUNT(*) FROM visits OPTION (RECOMPILE) -> refused
[tsql] SELECT COUNT(*) FROM visits WITH (NOLOCK) -> hint
[tsql] SELECT TOP 1 PERCENT person FROM visits -> refused
[tsql] SELECT COUNT(*) INTO #t FROM visits -> refused
[tsql] SELECT COUNT(*) FROM visits FOR XML PATH('') -> refused
[tsql] SELECT CONVERT(date, city, 112), COUNT(*) FROM visits GROUP BY city -> refused
[tsql] SELECT COUNT(*) FROM visits WHERE city = 'a' + person + 'b' -> refused
[spark] SELECT /*+ COALESCE(1) */ COUNT(*) FROM visits -> hint
[spark] SELECT COUNT(*) FROM visits LATERAL VIEW explode(array(1, 2)) t AS x -> refused
[spark] SELECT TRANSFORM(person) USING 'cat' FROM visits -> refused
[spark] SELECT COUNT(*) FROM parquet.`/etc/passwd` -> refused
[spark] SELECT java_method('java.lang.Runtime', 'exit', 1), COUNT(*) FROM visits -> refused
[oracle] SELECT COUNT(*) FROM visits CONNECT BY PRIOR person = person -> refused
[oracle] SELECT COUNT(*) FROM visits WHERE ROWNUM < 3 -> refused
[oracle] SELECT COUNT(*) FROM visits VERSIONS BETWEEN SCN MINVALUE AND MAXVALUE -> refused
[sqlite] SELECT COUNT(*) FROM sqlite_master -> no such table
[sqlite] SELECT load_extension('x'), COUNT(*) FROM visits -> refused
[trino] SELECT COUNT(*) FROM TABLE(system.query('SELECT 1')) -> refused

-- parameters
SELECT COUNT(*) FROM visits WHERE age > ?? -> refused
SELECT COUNT(*) FROM ? -> refused
SELECT ? FROM visits -> refused
[bigquery] SELECT COUNT(*) FROM visits WHERE @@version = 'x' -> refused
SELECT COUNT(*) FROM visits GROUP BY :1 -> refused
SELECT COUNT(*) FROM visits LIMIT :n -> refused

-- names
SELECT COUNT(*) FROM "visits" WHERE "ａｇｅ" > 3 -> look like others
SELECT COUNT(*) FROM vísits -> no such table
SELECT COUNT(*) FROM visits AS "__in0" -> reserved
SELECT COUNT(*) FROM "VISITS" v, "visits" V WHERE v.person = V.person -> refused
SELECT COUNT(*) FROM visits WHERE "age; DROP TABLE visits" > 3 -> no such column
SELECT COUNT(*) AS "COUNT(*)", SUM(age) AS "count(*)" FROM visits -> answered
SELECT COUNT(*) FROM (SELECT person, age AS "Person" FROM visits) AS t -> refused
SELECT COUNT(*) FROM visits WHERE "аge" > 3 -> no such column
[mysql] SELECT COUNT(*) FROM visits WHERE `age``x` > 3 -> refused
[tsql] SELECT COUNT(*) FROM visits WHERE [age]]x] > 3 -> refused

-- size and shape
SELECT COUNT(*) FROM visits WHERE age > 99999999999999999999999999999999999999 -> too large
SELECT COUNT(*) FROM visits WHERE age > 1e400 -> too large
SELECT COUNT(*) FROM visits WHERE age > 0.0000000000000000000001 -> too fine
SELECT SUM(age * 9223372036854775807 * 9223372036854775807) FROM visits -> refused
SELECT POWER(SUM(age), 999999999) FROM visits -> answered
SELECT SUM(POWER(10, age)) FROM visits -> exponent must be a constant
SELECT COUNT(*) FROM visits WHERE city LIKE '%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%a' -> at most four %
SELECT WIDTH_BUCKET(age, 0, 100, 100000) AS b, COUNT(*) FROM visits GROUP BY b -> refused
SELECT HISTOGRAM(age, 100000000) FROM visits -> answered
SELECT ward, COUNT(*) FROM visits GROUP BY CUBE (ward, flag, score, age, day, LOWER(ward), UPPER(ward), TRIM(ward), city, LEFT(ward, 1), age + 1) -> too many sets
SELECT SUBSTRING(city, 0 - 99999999999, 1), COUNT(*) FROM visits GROUP BY 1 -> refused

-- different values, shapes and truths of many rows
SELECT SUM(DISTINCT age) FROM visits -> answered
SELECT ward, SUM(DISTINCT score), AVG(DISTINCT age) FROM visits GROUP BY ward -> answered
SELECT SUM(DISTINCT CASE WHEN person = 'eve' THEN age END) FROM visits -> declare the column's type
SELECT SUM(DISTINCT CASE WHEN city = 'ada' THEN 120 ELSE -7 END) FROM visits -> answered
SELECT SUM(DISTINCT ALL age) FROM visits -> refused
SELECT SUM(DISTINCT age, score) FROM visits -> takes one expression
SELECT SUM(DISTINCT SUM(age)) FROM visits -> cannot contain another aggregate
SELECT SUM(DISTINCT huge) FROM visits -> have no bounds
SELECT SUM(DISTINCT wild) FROM visits -> refused
SELECT SUM(DISTINCT temp * temp) FROM visits -> needs values on a grid
SELECT SUM(DISTINCT age) OVER () FROM visits -> DISTINCT in a window
SELECT SKEWNESS(age), KURTOSIS(score) FROM visits -> answered
SELECT ward, KURTOSIS(cost), COUNT(*) FROM visits GROUP BY ward -> answered
SELECT KURTOSIS(temp) FILTER (WHERE city = 'ada') FROM visits -> answered
SELECT SKEWNESS(DISTINCT age) FROM visits -> which values there are
SELECT SKEWNESS(huge) FROM visits -> have no bounds
SELECT SKEWNESS(age) OVER (PARTITION BY person) FROM visits -> refused
SELECT BOOL_OR(city = 'ada'), EVERY(flag) FROM visits -> answered
SELECT BOOL_OR(person = 'eve') FROM visits -> declare the column's type
SELECT BOOL_OR((SELECT flag FROM visits)) FROM visits -> may have many rows
SELECT ENTROPY(ward), COUNT(*) FROM visits -> answered
SELECT ENTROPY(DISTINCT ward) FROM visits -> refused
SELECT ENTROPY(ENTROPY(ward)) FROM visits -> cannot contain another aggregate
SELECT person, ENTROPY(ward) FROM visits GROUP BY person -> refused

-- what a person adds, and labels of subtotals
SELECT SUM(huge, contribution_bounds_per_group => (0, 5)) FROM visits -> have no bounds
SELECT SUM(age, contribution_bounds_per_group => (-1e300, 1e300)) FROM visits -> refused
SELECT ward, SUM(age, contribution_bounds_per_group => (-3, 5)), COUNT(*) FROM visits GROUP BY ward -> answered
SELECT SUM(age, contribution_bounds_per_group => (0, 5), contribution_bounds_per_group => (0, 500)) FROM visits -> refused
SELECT BOUNDED_PER_GROUP(BOUNDED_PER_GROUP(SUM(age), 0, 5), 0, 500) FROM visits -> by two constants
SELECT BOUNDED_PER_GROUP(age, 0, 5) FROM visits -> by two constants
SELECT BOUNDED_PER_GROUP(SUM(age), 0, (SELECT 5)) FROM visits -> answered
SELECT SUM(age) OVER (PARTITION BY contribution_bounds_per_group => (0, 5)) FROM visits -> refused
SELECT COUNT(*, contribution_bounds_per_group => (0, 2)) FROM visits v JOIN visits w ON v.person = w.person -> answered
SELECT GROUPING(person), COUNT(*) FROM visits GROUP BY ROLLUP (person) -> one group per person
SELECT GROUPING(ward), COUNT(*) FROM visits GROUP BY CUBE (ward, city) -> cannot be found in the data
SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward) HAVING GROUPING(city) = 1 -> must be grouped by

-- texts that grow, masks, and expressions that repeat
SELECT COUNT(*) FROM visits WHERE REPEAT(REPEAT(REPEAT(city, 32), 32), 32) = 'x' -> too many parts
SELECT COUNT(*) FROM visits WHERE LENGTH(REPEAT(REPEAT(city, 32), 32)) > 3 -> answered
SELECT REPEAT(REPEAT(REPEAT('x', 32), 32), 32) || ward, COUNT(*) FROM visits GROUP BY ward -> answered
SELECT REPEAT('x', COUNT(*) * 1000000000), COUNT(*) FROM visits -> answered
SELECT REPLACE(REPLACE(REPLACE(CAST(COUNT(*) AS TEXT), '1', '11111111'), '1', '11111111'), '1', '11111111') FROM visits -> answered
SELECT LPAD(CAST(COUNT(*) AS TEXT), 1000000000, 'x') FROM visits -> answered
SELECT COUNT(*) FROM visits WHERE age & -1 = 3 -> needs a constant
SELECT COUNT(*) FROM visits WHERE age & 4294967295 = 3 -> needs a constant
SELECT COUNT(*) FROM visits WHERE huge & 1 = 1 -> answered
SELECT COUNT(*) FROM visits WHERE city & 1 = 1 -> needs numbers
SELECT COUNT(*) FROM visits WHERE city ~ '^(a+)+$' -> refused
SELECT COUNT(*) FROM visits WHERE city ~ '(a|a)*b' -> refused
SELECT COUNT(*) FROM visits WHERE city ~ '^[a-z]{1,64}[a-z]{1,64}$' -> too many optional parts
SELECT COUNT(*) FROM visits WHERE city ~ '.*.*.*.*.*.*x' -> answered
SELECT COUNT(*) FROM visits WHERE city ~ 'a.*b.*c.*d.*e.*f' -> at most four %
SELECT COUNT(*) FROM visits WHERE city ~ '^[a-z]+$' -> answered
SELECT COUNT(*) FROM visits WHERE city ~ '^\' -> refused
SELECT COUNT(*) FROM visits WHERE city ~ '^[^\d%_!]{3}$' -> answered
SELECT COUNT(*) FROM visits WHERE city ~ '[a-z]{3}[a-z]*$' -> answered
SELECT COUNT(*) FROM visits WHERE person ~ '^[a-z]' -> needs text
SELECT INITCAP(city) AS c, COUNT(*) FROM visits GROUP BY c -> declared values
SELECT MAX(REVERSE(ward)) FROM visits -> refused
SELECT COUNT(*) FROM visits WHERE EXTRACT(YEAR FROM AGE(city, day)) > 3 -> refused
[mysql] SELECT COUNT(*) FROM visits WHERE flag XOR (SELECT flag FROM visits) -> may have many rows
SELECT q, COUNT(*) FROM (SELECT person, NTILE(2) OVER (PARTITION BY person ORDER BY day) AS q FROM visits) t GROUP BY q -> answered
SELECT COUNT(*) FROM (SELECT person, NTILE(2) OVER (ORDER BY day) AS q FROM visits) t -> PARTITION BY
SELECT COUNT(*) FROM (SELECT person, NTILE(age) OVER (PARTITION BY person ORDER BY day) AS q FROM visits) t -> constant number of parts

-- released tables, put together
SELECT a.n FROM (SELECT COUNT(*) AS n FROM visits) a, visits b -> refused
SELECT v.person, a.n FROM visits v, (SELECT COUNT(*) AS n FROM visits) a -> refused
SELECT COUNT(*) FROM visits v JOIN (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) w ON v.ward = w.ward -> refused
SELECT COUNT(*) FROM visits v JOIN (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) w ON v.ward = w.ward AND w.n > 3 -> refused
SELECT COUNT(*) FROM visits WHERE (SELECT COUNT(*) FROM visits) > 3 -> refused
SELECT COUNT(*) FROM visits WHERE person = (SELECT MAX(person) FROM visits) -> refused
SELECT (SELECT person FROM visits LIMIT 1) -> refused
SELECT (SELECT person FROM visits ORDER BY cost DESC LIMIT 1), COUNT(*) FROM visits -> refused
SELECT COUNT(*), (SELECT city FROM visits LIMIT 1) FROM visits -> refused
SELECT person FROM visits UNION ALL SELECT COUNT(*) FROM visits -> refused
SELECT COUNT(*) FROM visits UNION ALL SELECT age FROM visits -> refused
SELECT * FROM visits UNION ALL SELECT * FROM visits -> refused
SELECT ward, COUNT(*) FROM visits GROUP BY ward UNION ALL SELECT person, COUNT(*) FROM visits GROUP BY person -> refused
WITH a AS (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) SELECT * FROM a x JOIN a y ON x.n = y.n -> refused
WITH a AS (SELECT person, COUNT(*) AS n FROM visits GROUP BY person), b AS (SELECT COUNT(*) AS m FROM visits) SELECT * FROM a, b -> refused
WITH a AS (SELECT person, COUNT(*) AS n FROM visits GROUP BY person), b AS (SELECT COUNT(*) AS m FROM visits) SELECT COUNT(*) FROM a, b WHERE a.n > b.m -> refused
SELECT MAX(n) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person ORDER BY n DESC LIMIT 1) t -> refused
SELECT STRING_AGG(person, ',') FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) t -> refused
SELECT STRING_AGG(city, ',') FROM visits GROUP BY ward -> refused
SELECT ward, STRING_AGG(city, ',' ORDER BY cost) FROM visits GROUP BY ward -> refused
SELECT COUNT(*), STRING_AGG(city, ',') FROM visits -> refused
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING STRING_AGG(city, ',') LIKE '%ann%' -> refused
SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY STRING_AGG(city, ',') -> refused
SELECT COUNT(*) FROM (SELECT person, STRING_AGG(city, '') AS s FROM visits GROUP BY person) t WHERE s = 'x' -> refused
SELECT STRING_AGG(ward, n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t -> refused
SELECT STRING_AGG(x.s, x.s) FROM (SELECT ward AS s, COUNT(*) AS n FROM visits GROUP BY ward) x -> refused
SELECT ward, COUNT(*) / (SELECT COUNT(DISTINCT city) FROM visits WHERE huge = 7) FROM visits GROUP BY ward -> answered
SELECT ward, COUNT(*), (SELECT COUNT(*) FROM visits WHERE huge = 7) AS eve FROM visits GROUP BY ward -> answered
SELECT a.n - b.n FROM (SELECT COUNT(*) AS n FROM visits) a, (SELECT COUNT(*) AS n FROM visits WHERE huge <> 7) b -> answered
SELECT COUNT(*) FROM visits WHERE huge = 7 UNION ALL SELECT SUM(age) FROM visits WHERE huge = 7 -> answered
SELECT COUNT(*) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) a JOIN (SELECT ward, MAX(age) AS m FROM visits GROUP BY ward) b ON a.ward = b.ward AND a.n > b.m -> answered

-- tied to a row
SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.person <> p.person) > 3 -> refused
SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.person = p.person OR TRUE) > 3 -> refused
SELECT COUNT(*) FROM people p WHERE (SELECT MAX(v.age) FROM visits v WHERE v.age = p.born) > 3 -> refused
SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.person = p.person AND v.age > p.born) > 3 -> refused
SELECT COUNT(*) FROM people p WHERE (SELECT v.age FROM visits v WHERE v.person = p.person) > 3 -> refused
SELECT COUNT(*) FROM people p WHERE (SELECT v.age FROM visits v WHERE v.person = p.person LIMIT 1) > 3 -> refused
SELECT COUNT(*) FROM people p, LATERAL (SELECT COUNT(*) AS n FROM visits v) x WHERE x.n > 1 -> refused
SELECT COUNT(*) FROM people p, LATERAL (SELECT v.age FROM visits v WHERE v.age > p.born) x -> refused
SELECT COUNT(*) FROM people p, LATERAL (SELECT v.age FROM visits v WHERE v.person = p.person LIMIT 1) x -> refused
SELECT COUNT(*) FROM visits v, LATERAL (SELECT w.age FROM visits w WHERE w.ward = v.ward) x -> refused
SELECT COUNT(*) FROM visits v, LATERAL (SELECT w.age FROM visits w WHERE w.person = v.person) x -> answered
SELECT COUNT(*) FROM visits v, LATERAL (SELECT w.age FROM visits w WHERE w.person = v.person ORDER BY w.age LIMIT 1) x -> answered
SELECT SUM(age) FROM (SELECT DISTINCT ON (ward) ward, age, person FROM visits ORDER BY ward, age DESC) t -> refused
SELECT SUM(age) FROM (SELECT DISTINCT ON (person) person, age FROM visits ORDER BY age, person) t -> refused
SELECT DISTINCT ON (person) person, age FROM visits ORDER BY person, age -> refused
SELECT DISTINCT ON (ward) ward, age FROM visits ORDER BY ward, age -> refused
SELECT SUM(age) FROM (SELECT DISTINCT ON (person) person, age FROM visits ORDER BY person, age DESC) t -> answered
SELECT COUNT(*) FROM (SELECT v.person, (SELECT COUNT(*) FROM visits w WHERE w.person = v.person) AS n FROM visits v) t WHERE n > 2 -> answered

-- characters of a class
SELECT COUNT(*) FROM visits WHERE city ~ '(a+)+$' -> refused
SELECT COUNT(*) FROM visits WHERE city ~ '[a-z]+[a-z]+[0-9]' -> refused
SELECT COUNT(*) FROM visits WHERE city ~ '[^a][0-9]{3}' -> refused
SELECT COUNT(*) FROM visits WHERE REGEXP_REPLACE(city, '[a-z]', 'xx', 'g') = 'x' -> refused
SELECT COUNT(*) FROM visits WHERE REGEXP_REPLACE(city, '(a|b)*', '', 'g') = 'x' -> refused
SELECT COUNT(*) FROM visits WHERE REGEXP_REPLACE(city, city, '', 'g') = 'x' -> refused
SELECT COUNT(*) FROM visits WHERE REGEXP_REPLACE(city, '[%_]', '', 'g') = 'x' -> answered
SELECT COUNT(*) FROM visits WHERE city ~ '[0-9]{60}' -> answered

-- tables turned
SELECT * FROM (SELECT person, ward FROM visits) PIVOT (COUNT(*) FOR ward IN ('A')) -> refused
SELECT * FROM (SELECT ward, age FROM visits) PIVOT (STRING_AGG(age, ',') FOR ward IN ('A')) -> refused
SELECT * FROM (SELECT ward, flag FROM visits) PIVOT (COUNT(*) FOR person IN ('eve')) -> refused
SELECT * FROM (SELECT ward, flag FROM visits) PIVOT (COUNT(*) FOR ward IN (SELECT ward FROM visits)) -> refused
SELECT * FROM (SELECT ward, flag FROM visits) PIVOT (MAX(flag) FOR ward IN ('A')) PIVOT (COUNT(*) FOR flag IN (TRUE)) -> refused
SELECT COUNT(*) FROM (SELECT person, ward FROM visits) PIVOT (COUNT(*) FOR ward IN ('A', 'B')) AS p WHERE p.a > p.b -> answered

-- one row of each person's, and lists of constants
SELECT ward, ARG_MAX(person, age) FROM visits GROUP BY ward -> belongs to one row
SELECT FIRST(person ORDER BY age DESC) FROM visits -> belongs to one row
SELECT ANY_VALUE(city) FROM visits GROUP BY ward -> belongs to one row
SELECT p, COUNT(*) FROM (SELECT ward, ARG_MAX(person, age) AS p FROM visits GROUP BY ward) GROUP BY p -> other people's rows
SELECT p, COUNT(*) FROM (SELECT person, ARG_MAX(person, age) AS p FROM visits GROUP BY person) GROUP BY p -> 
SELECT COUNT(*) FROM (SELECT person, MAX(FIRST_VALUE(city) OVER (ORDER BY age)) AS c FROM visits GROUP BY person) WHERE c = 'a' -> PARTITION BY the person
SELECT COUNT(*) FROM (SELECT person, MAX(FIRST_VALUE(city) OVER (PARTITION BY ward ORDER BY age)) AS c FROM visits GROUP BY person) WHERE c = 'a' -> PARTITION BY the person
SELECT COUNT(*) FROM (SELECT person, MAX(MIN(age) OVER (PARTITION BY person)) AS c FROM visits GROUP BY person) WHERE c > 3 -> answered
SELECT COUNT(*) FROM (SELECT person, MAX(FIRST_VALUE(FIRST_VALUE(age) OVER (PARTITION BY person)) OVER (PARTITION BY person)) AS c FROM visits GROUP BY person) WHERE c > 3 -> stands in no other one
SELECT s.k, COUNT(v.age) FROM GENERATE_SERIES(1, 9) AS s (k) LEFT JOIN visits v ON v.age = s.k OR TRUE GROUP BY s.k -> equates it
SELECT s.k, COUNT(v.age) FROM GENERATE_SERIES(1, 9) AS s (k) LEFT JOIN visits v ON s.k = s.k GROUP BY s.k -> equates it
SELECT s.k, COUNT(v.age) FROM GENERATE_SERIES(1, 99999999999) AS s (k) LEFT JOIN visits v ON v.age = s.k GROUP BY s.k -> constant ends
SELECT s.k, COUNT(v.age) FROM GENERATE_SERIES(1, 9, 0) AS s (k) LEFT JOIN visits v ON v.age = s.k GROUP BY s.k -> constant ends
SELECT s.k, COUNT(v.age) FROM GENERATE_SERIES(DATE '0001-01-01', DATE '9999-12-31', INTERVAL 1 DAY) AS s (k) LEFT JOIN visits v ON v.day = s.k GROUP BY s.k -> 
SELECT s.k, COUNT(v.age) FROM GENERATE_SERIES(1, (SELECT COUNT(*) FROM visits)) AS s (k) LEFT JOIN visits v ON v.age = s.k GROUP BY s.k -> 
SELECT s.k, COUNT(v.age) FROM UNNEST([person]) AS s (k) LEFT JOIN visits v ON v.person = s.k GROUP BY s.k -> 
SELECT s.k, COUNT(v.age) FROM UNNEST(['ann', 'bob']) AS s (k) LEFT JOIN visits v ON v.person = s.k GROUP BY s.k -> 
SELECT s.k, COUNT(v.age) FROM (VALUES (1, 2), (3, 4)) AS s (k, l) LEFT JOIN visits v ON v.age = s.k GROUP BY s.k -> 
SELECT person, COUNT(*) FROM visits WHERE person IN ('ann', 'bob') GROUP BY person -> 

SELECT s.k, COUNT(v.age) FROM GENERATE_SERIES(DATE '9999-12-25', DATE '9999-12-31', INTERVAL 1 DAY) AS s (k) LEFT JOIN visits v ON v.day = s.k GROUP BY s.k -> answered
SELECT s.k, COUNT(v.age) FROM GENERATE_SERIES(DATE '9999-01-01', DATE '9999-12-31', INTERVAL 1 MONTH) AS s (k) LEFT JOIN visits v ON v.day = s.k GROUP BY s.k -> answered

-- clocks and keys that conditions name
SELECT COUNT(*) FROM visits WHERE moment AT TIME ZONE '/etc/localtime' > '2024-01-01' -> names no time zone
SELECT COUNT(*) FROM visits WHERE moment AT TIME ZONE '../UTC' > '2024-01-01' -> names no time zone
SELECT COUNT(*) FROM visits WHERE moment AT TIME ZONE city > '2024-01-01' -> names no time zone
SELECT COUNT(*) FROM visits WHERE moment AT TIME ZONE NULL > '2024-01-01' -> names no time zone
SELECT COUNT(*) FROM visits WHERE moment > TIMESTAMP '9999-12-31 23:59:59-23:59' -> cannot be read
SELECT COUNT(*) FROM visits WHERE moment > TIMESTAMP '2024-01-01 00:00:00+99:99' -> cannot be read
SELECT COUNT(*) FROM visits WHERE CAST(moment AS TIME) > '09:00+02:00' -> cannot be read
SELECT COUNT(*) FROM visits WHERE CAST(age AS TIME) > '09:00' -> 
SELECT city, COUNT(*) FROM visits WHERE city IN ('a', 'b') GROUP BY city -> answered
SELECT city, COUNT(*) FROM visits WHERE city = 'a' OR city = 'b' OR TRUE GROUP BY city -> answered
SELECT huge, COUNT(*) FROM visits WHERE huge > 9223372036854775806 GROUP BY huge -> answered
SELECT huge, COUNT(*) FROM visits WHERE huge BETWEEN -9223372036854775808 AND 5 AND huge BETWEEN 4 AND 9 GROUP BY huge -> answered
SELECT day, COUNT(*) FROM visits WHERE day > DATE '9999-12-31' GROUP BY day -> answered
SELECT DATE_TRUNC('week', day) - INTERVAL 4000 YEAR, COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT APPROX_TOP_COUNT(person, 3) FROM visits -> one group per person
SELECT APPROX_TOP_K(city, 0) FROM visits -> answered
SELECT APPROX_TOP_K(city, age) FROM visits -> 
SELECT COUNT(*) FROM TABLE(ESTIMATE_REMAINING_DP_AGGREGATES('visits')) -> about the budget

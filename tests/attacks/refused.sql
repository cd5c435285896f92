-- Each paragraph is one hostile or mistaken question; after the arrow, a word its refusal must contain.

-- functions that read files, metadata or other tables
SELECT COUNT(*) FROM read_csv('/etc/passwd') -> table
SELECT COUNT(*) FROM read_text('/etc/passwd') -> table
SELECT COUNT(*) FROM read_parquet('x.parquet') -> table
SELECT COUNT(*) FROM 'visits.parquet' -> table
SELECT COUNT(*) FROM glob('*') -> table
SELECT COUNT(*) FROM duckdb_tables() -> table
SELECT COUNT(*) FROM duckdb_settings() -> table
SELECT COUNT(*) FROM pragma_storage_info('visits') -> table
SELECT COUNT(*) FROM query('SELECT 1') -> table
SELECT COUNT(*) FROM query_table('visits') -> table
SELECT COUNT(*) FROM range(10) -> about nobody
SELECT COUNT(*) FROM generate_series(1, 10) -> about nobody
SELECT COUNT(*) FROM unnest([1, 2, 3]) -> 
SELECT COUNT(*) FROM information_schema.tables -> schema
SELECT COUNT(*) FROM pg_catalog.pg_tables -> schema
SELECT COUNT(*) FROM sqlite_master -> declared
SELECT COUNT(*) FROM sniff_csv('x.csv') -> table
SELECT SUM(stats(age)) FROM visits -> stats
SELECT COUNT(getenv('HOME')) FROM visits -> getenv
SELECT COUNT(current_setting('threads')) FROM visits -> current_setting
SELECT COUNT(version()) FROM visits -> VERSION
SELECT COUNT(pg_read_file('/etc/passwd')) FROM visits -> pg_read_file
SELECT COUNT(lo_import('/etc/passwd')) FROM visits -> lo_import
SELECT COUNT(pg_sleep(10)) FROM visits -> pg_sleep
SELECT COUNT(sleep_ms(1000)) FROM visits -> sleep_ms
SELECT COUNT(error(city)) FROM visits -> error
SELECT COUNT(write_log(city)) FROM visits -> write_log
SELECT COUNT(nextval('s')) FROM visits -> 
SELECT COUNT(txid_current()) FROM visits -> txid_current
SELECT COUNT(current_user) FROM visits -> 
SELECT COUNT(now(3)) FROM visits -> 
SELECT COUNT(CURRENT_TIME) FROM visits -> 
SELECT COUNT(CURRENT_TIMESTAMP(3)) FROM visits -> 
SELECT COUNT(uuid()) FROM visits -> 
SELECT COUNT(rowid) FROM visits -> declared
SELECT COUNT(*) FROM visits WHERE rowid = 7 -> declared

-- statements other than one SELECT
SELECT COUNT(*) FROM visits; DROP TABLE visits -> statement
SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits -> statement
; -> 
DROP TABLE visits -> SELECT
DELETE FROM visits -> SELECT
UPDATE visits SET age = 1 -> SELECT
INSERT INTO visits SELECT * FROM visits -> SELECT
CREATE TABLE t AS SELECT * FROM visits -> SELECT
CREATE MACRO f(x) AS x -> 
COPY visits TO '/tmp/x.csv' -> SELECT
COPY (SELECT * FROM visits) TO '/tmp/x.csv' -> SELECT
EXPORT DATABASE '/tmp/x' -> SELECT
ATTACH '/tmp/x.db' -> SELECT
DETACH memory -> SELECT
PRAGMA table_info('visits') -> SELECT
SET threads = 1 -> SELECT
RESET threads -> SELECT
INSTALL httpfs -> SELECT
LOAD httpfs -> SELECT
CALL pragma_version() -> SELECT
EXPLAIN SELECT COUNT(*) FROM visits -> SELECT
EXPLAIN ANALYZE SELECT COUNT(*) FROM visits -> SELECT
DESCRIBE visits -> SELECT
SUMMARIZE visits -> SELECT
SHOW TABLES -> SELECT
VACUUM -> SELECT
BEGIN TRANSACTION -> SELECT
FROM visits -> row
VALUES (1) -> SELECT
TABLE visits -> 
SELECT COUNT(*) FROM visits UNION ALL SELECT person FROM visits -> 
SELECT COUNT(*) FROM visits INTERSECT SELECT 1 -> SELECT
SELECT COUNT(*) FROM visits EXCEPT SELECT 1 -> SELECT
(SELECT COUNT(*) FROM visits) -> 
nonsense -> 
SELECT -> 
 -> 

-- rows instead of aggregates
SELECT * FROM visits -> row
SELECT age FROM visits -> aggregate
SELECT person, COUNT(*) FROM visits GROUP BY person -> person
SELECT person FROM visits GROUP BY person -> person
SELECT age, COUNT(*) FROM visits -> GROUP BY
SELECT visits.* FROM visits -> row
SELECT COUNT(*), city FROM visits GROUP BY ward -> GROUP BY
SELECT MAX(person) FROM visits -> 
SELECT MIN(city) FROM visits -> number
SELECT ANY_VALUE(city) FROM visits -> 
SELECT FIRST(age) FROM visits -> 
SELECT LAST(age) FROM visits -> 
SELECT ARG_MAX(city, cost) FROM visits -> 
SELECT LIST(age) FROM visits -> 
SELECT STRING_AGG(city, ',') FROM visits -> 
SELECT ARRAY_AGG(age) FROM visits -> 
SELECT BIT_XOR(age) FROM visits -> 
SELECT PRODUCT(age) FROM visits -> 
SELECT KURTOSIS(huge) FROM visits -> bounds
SELECT BOOL_OR(age) FROM visits -> condition
SELECT MEDIAN(DISTINCT age) FROM visits -> DISTINCT
SELECT MEDIAN(city) FROM visits -> number
SELECT MODE(city) FROM visits -> values
SELECT moment, COUNT(*) FROM visits GROUP BY moment -> fine
SELECT temp, COUNT(*) FROM visits GROUP BY temp -> fine

-- one person could change every row, or see the others
SELECT COUNT(*) FROM visits WHERE (SELECT COUNT(*) FROM visits) > 1000 -> person
SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits) -> person
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM visits) -> person
SELECT COUNT(*) FROM visits WHERE age = ANY (SELECT age FROM visits) -> 
SELECT (SELECT COUNT(*) FROM visits) FROM visits -> person
SELECT SUM((SELECT MAX(age) FROM visits)) FROM visits -> person
SELECT SUM(age) OVER () FROM visits -> window
SELECT ROW_NUMBER() OVER (ORDER BY age) FROM visits -> 
SELECT COUNT(*) FROM (SELECT person, RANK() OVER (ORDER BY age) AS r FROM visits) t WHERE r = 1 -> 
SELECT COUNT(*) FROM visits QUALIFY ROW_NUMBER() OVER () = 1 -> 
SELECT COUNT(*) FROM (SELECT * FROM visits LIMIT 1) t -> LIMIT
SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY age) t -> ORDER BY
SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY age LIMIT 10) t -> subquery
SELECT COUNT(*) FROM (SELECT * FROM visits OFFSET 5) t -> OFFSET
SELECT COUNT(*) FROM (SELECT DISTINCT city FROM visits) t -> person
SELECT SUM(DISTINCT n) FROM (SELECT COUNT(*) AS n FROM visits) t -> released rows
SELECT COUNT(*) FROM visits TABLESAMPLE 10% -> 
SELECT COUNT(*) FROM visits USING SAMPLE 10 -> SAMPLE
SELECT COUNT(*) FROM visits WHERE random() < 0.5 -> random
SELECT SUM(age * random()) FROM visits -> random
SELECT COUNT(setseed(0.5)) FROM visits -> setseed
SELECT COUNT(hash(city)) FROM visits -> hash
SELECT COUNT(md5(city)) FROM visits -> 
SELECT COUNT(*) FROM visits WHERE regexp_matches(city, '(a+)+b') -> regular
SELECT COUNT(*) FROM visits WHERE city SIMILAR TO '(a|b)+' -> regular
SELECT COUNT(*) FROM visits WHERE city ~ '(a|aa)+$' -> regular
SELECT COUNT(*) FROM visits WHERE city LIKE ward -> pattern
SELECT COUNT(*) FROM visits WHERE city LIKE '%a%b%c%d%e%' -> pattern
SELECT COUNT(repeat(city, 1000000)) FROM visits -> 
SELECT COUNT(lpad(city, 1000000, 'x')) FROM visits -> 
SELECT COUNT(list_transform([age], x -> x + 1)) FROM visits -> 
SELECT COUNT([age]) FROM visits -> 
SELECT COUNT({'a': age}) FROM visits -> 
SELECT COUNT(city[1]) FROM visits -> 
SELECT COUNT(?) FROM visits -> 
SELECT COUNT($1) FROM visits -> 
SELECT COUNT(columns('a.*')) FROM visits -> 

-- joins
SELECT COUNT(*) FROM visits, visits AS w -> JOIN
SELECT COUNT(*) FROM visits CROSS JOIN visits AS w -> JOIN
SELECT COUNT(*) FROM visits JOIN visits AS w ON true -> person
SELECT COUNT(*) FROM visits JOIN visits AS w ON visits.ward = w.ward -> person
SELECT COUNT(*) FROM visits JOIN visits AS w ON visits.person <> w.person -> person
SELECT COUNT(*) FROM visits JOIN visits AS w ON visits.person = w.person OR true -> person
SELECT COUNT(*) FROM visits JOIN visits AS w ON visits.person = w.city -> 
SELECT COUNT(*) FROM visits ASOF JOIN people ON visits.day >= people.born -> left
SELECT COUNT(*) FROM visits POSITIONAL JOIN people -> left
SELECT COUNT(*) FROM wards LEFT JOIN visits ON wards.ward = visits.ward -> left
SELECT COUNT(*) FROM visits JOIN visits ON visits.person = visits.person -> twice
SELECT COUNT(*) FROM visits, LATERAL (SELECT 1) t -> 
SELECT COUNT(*) FROM wards -> public
SELECT floor, COUNT(*) FROM wards GROUP BY floor -> public

-- names
SELECT COUNT(*) FROM vistis -> mean
SELECT SUM(costt) FROM visits -> mean
SELECT COUNT(*) FROM visits WHERE nоbody = 1 -> 
SELECT COUNT(*) FROM vіsits -> 
SELECT COUNT(*) FROM "visits " -> 
SELECT COUNT(ａｇｅ) FROM visits -> look
SELECT COUNT(*) FROM (SELECT person, age AS "__u" FROM visits) AS t -> reserved
SELECT COUNT(*) FROM visits AS __v -> reserved
SELECT COUNT(__u) FROM visits -> reserved
SELECT COUNT(*) FROM visits v WHERE visits.age > 3 -> 
SELECT COUNT(other.age) FROM visits -> 
SELECT SUM(age) FROM visits JOIN people ON visits.person = people.person WHERE version = 1 -> several
WITH visits AS (SELECT * FROM visits) SELECT COUNT(*) FROM visits -> shadows
WITH x AS (SELECT * FROM visits), x AS (SELECT * FROM people) SELECT COUNT(*) FROM x -> twice
WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT COUNT(*) FROM r -> recursion
WITH r AS MATERIALIZED (SELECT * FROM visits) SELECT age FROM r -> 
WITH r(a, b) AS (SELECT age FROM visits) SELECT COUNT(a) FROM r -> lists other columns
WITH t AS (DELETE FROM visits RETURNING *) SELECT COUNT(*) FROM t -> 

-- bounds and types
SELECT SUM(huge) FROM visits -> bounds
SELECT AVG(wild) FROM visits -> bounds
SELECT SUM(CLAMP(age, 100, 0)) FROM visits -> low
SELECT SUM(CLAMP(age, cost, 100)) FROM visits -> constants
SELECT SUM(CLAMP(age, 0)) FROM visits -> bounds
SELECT SUM(CLAMP(age, 0, 1e30)) FROM visits -> 2**53
SELECT SUM(city) FROM visits -> number
SELECT SUM(age + city) FROM visits -> number
SELECT SUM(age % 0) FROM visits -> constant
SELECT SUM(age % age) FROM visits -> constant
SELECT COUNT(*) FROM visits WHERE age -> condition
SELECT COUNT(*) FROM visits WHERE age = 'x' -> mixes
SELECT COUNT(*) FROM visits WHERE flag < true -> order
SELECT COUNT(*) FROM visits WHERE person = 5 -> 
SELECT COUNT(*) FROM visits WHERE person > person -> 
SELECT COUNT(CAST(age AS BLOB)) FROM visits -> type
SELECT COUNT(CAST(age AS INTEGER[])) FROM visits -> 
SELECT COUNT(CAST(age AS DOUBLE)) FROM visits WHERE SUM(age) > 1 -> aggregate
SELECT QUANTILE(age, 1.5) FROM visits -> level
SELECT QUANTILE(age, cost) FROM visits -> level
SELECT QUANTILE(age, [0.1, 0.9]) FROM visits -> 
SELECT SUM(POWER(age, 9)) FROM visits -> exponent
SELECT SUM(POWER(age, cost)) FROM visits -> exponent
SELECT SUM(SUM(age)) FROM visits -> aggregate
SELECT COUNT(*) FROM visits GROUP BY COUNT(*) -> aggregate
SELECT COUNT(*) FROM visits WHERE day = DATE '2024-13-45' -> read
SELECT COUNT(*) FROM visits WHERE day > INTERVAL 3 DAY -> 
SELECT COUNT(day + INTERVAL 99999 DAY) FROM visits -> whole
SELECT COUNT(*) FROM visits LIMIT 5 OFFSET age -> OFFSET
SELECT COUNT(*) FROM visits LIMIT 10% -> 
SELECT COUNT(*) FROM visits LIMIT (SELECT 5) -> 
SELECT ward, COUNT(*) FROM visits GROUP BY 7 -> column
SELECT city, COUNT(*) FROM visits GROUP BY CUBE (city, flag) -> declare values for city
SELECT ward, MEDIAN(age) FROM visits GROUP BY ROLLUP (ward) -> does not add up
SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY CUBE (ward) -> does not add up
SELECT ward, COUNT(DISTINCT city) FROM visits GROUP BY GROUPING SETS ((ward), ()) -> does not add up
SELECT person, COUNT(*) FROM visits GROUP BY CUBE (person) -> release people
SELECT AVG(n) FROM (SELECT person, ward, COUNT(*) AS n FROM visits GROUP BY CUBE (person, ward)) -> outermost
SELECT COUNT(*) FROM visits GROUP BY CUBE (ward, flag, score, age, day, cost, temp, city, person, huge, wild) -> more than 10
SELECT COUNT(*) FROM visits GROUP BY CUBE (ward, flag, score), CUBE (ward, age, day), CUBE (flag, age, score), CUBE (day, flag) -> sets of columns
SELECT age, COUNT(*) FROM visits GROUP BY CUBE (age, day, score) -> more than 200000
SELECT CDF(age) + 1 FROM visits -> column of its own
SELECT CDF(age), COUNT(*) FROM visits -> stands alone
SELECT CDF(age), HISTOGRAM(age, 3) FROM visits -> stands alone
SELECT COUNT(*) FROM visits HAVING CDF(age) > 1 -> column of its own
SELECT ward, CDF(age) FROM visits GROUP BY CUBE (ward) -> stands alone
SELECT CDF(wild) FROM visits -> no bounds
SELECT CDF(city) FROM visits -> needs a number
SELECT CDF(age, 0) FROM visits -> at least 1
SELECT CDF(age, ward) FROM visits -> whole number
SELECT CDF(temp, 100000) FROM visits -> fewer
SELECT CDF() FROM visits -> CDF(x)
SELECT CDF(SUM(age)) FROM visits -> another aggregate
SELECT city, CDF(age) FROM visits GROUP BY city -> declare values
SELECT HISTOGRAM(age, [0, 50]) FROM visits -> inside the bounds
SELECT HISTOGRAM(age, [50, 20]) FROM visits -> increasing
SELECT HISTOGRAM(age, [20.5]) FROM visits -> whole numbers
SELECT HISTOGRAM(age, [score]) FROM visits -> constant numbers
SELECT QUANTILES(age, 0.5) FROM visits -> QUANTILES(x, [
SELECT QUANTILES(age, [0.5, 1.5]) FROM visits -> 0 to 1
SELECT QUANTILES(age, []) FROM visits -> QUANTILES
SELECT AVG(c) FROM (SELECT person, CDF(age) AS c FROM visits GROUP BY person) -> per person
SELECT ward, COUNT(*) FROM visits ORDER BY ALL -> 
SELECT DISTINCT ON (ward) ward, COUNT(*) FROM visits GROUP BY ward -> DISTINCT ON
SELECT COUNT(*) FROM visits FOR UPDATE -> 
SELECT COUNT(*) INTO t FROM visits -> 
SELECT /*+ hint */ COUNT(*) FROM visits -> hint
SELECT COUNT(*) FILTER (WHERE SUM(age) > 1) FROM visits -> aggregate
SELECT age FILTER (WHERE flag) FROM visits -> 
SELECT COUNT(age ORDER BY age) FROM visits -> 
SELECT COUNT(* EXCLUDE (age)) FROM visits -> 
SELECT MEDIAN(age) WITHIN GROUP (ORDER BY age) FROM visits -> 
SELECT COUNT(*) FROM visits PIVOT (COUNT(*) FOR ward IN ('A')) -> 
SELECT COUNT(*) FROM visits WINDOW w AS (ORDER BY age) -> 

-- names that differ only by case are one name
SELECT COUNT(*) FROM (SELECT X, COUNT(*) AS n FROM (SELECT age AS x, person AS X FROM visits) t GROUP BY X) s -> one
SELECT COUNT(*) FROM (SELECT DISTINCT x FROM (SELECT person AS x, age AS X FROM visits) t) s -> one
SELECT SUM(n) FROM (SELECT person, COUNT(*) AS n, MAX(age) AS N FROM visits GROUP BY person) t -> one
SELECT COUNT(*) FROM (SELECT person AS "é", age AS "É" FROM visits) t -> one
SELECT COUNT(*) FROM (SELECT visits.person, people.person FROM visits JOIN people ON visits.person = people.person) t -> one
SELECT COUNT(*) FROM (SELECT person, age AS Person FROM visits) t -> one
WITH a AS (SELECT * FROM visits), A AS (SELECT * FROM visits) SELECT COUNT(*) FROM a -> twice
WITH Visits AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT n FROM visits -> shadows
SELECT COUNT(*) FROM visits AS a JOIN people AS A ON a.person = A.person -> twice

-- a clause that would have no effect
SELECT n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t HAVING n > 5 -> GROUP BY
SELECT * FROM (SELECT COUNT(*) AS n FROM visits) t HAVING n > 5 -> GROUP BY
WITH t AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT n FROM t WHERE n > 1 HAVING n > 5 -> GROUP BY
SELECT n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t HAVING COUNT(*) > 1 -> person
SELECT n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t ORDER BY COUNT(*) -> person
SELECT n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t GROUP BY GROUPING SETS ((), ()) -> 
SELECT q.n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) t -> no such column

-- what an engine would refuse at some cells only
SELECT COUNT(*) FROM (SELECT * FROM visits) v JOIN wards w ON w.floor -> condition
SELECT COUNT(*) FROM visits WHERE city ILIKE 'xa' ESCAPE 'a' -> ESCAPE
SELECT COUNT(*) FROM visits WHERE city LIKE 'x!y' ESCAPE '!' -> ESCAPE
SELECT COUNT(*) FROM visits WHERE city LIKE 'x' ESCAPE '' -> ESCAPE
SELECT COUNT(*) FROM visits WHERE city LIKE 'x' ESCAPE 'ab' -> ESCAPE
SELECT COUNT(*) FROM visits WHERE huge % 0 = 1 -> at least 1
SELECT COUNT(*) FROM visits WHERE huge % -1 = 1 -> at least 1
SELECT COUNT(*) FROM visits WHERE huge % age = 1 -> at least 1
SELECT SUM(POWER(city, 1)) FROM visits -> number

-- joins without their condition, and conditions that only look like one
SELECT COUNT(*) FROM visits a, visits b -> person
SELECT COUNT(*) FROM visits a, visits b, people p WHERE a.person = p.person -> person
SELECT COUNT(*) FROM visits a, visits b WHERE a.person = b.person OR TRUE -> person
SELECT COUNT(*) FROM visits a, visits b WHERE NOT (a.person <> b.person) -> person
SELECT COUNT(*) FROM visits a, visits b WHERE a.person = b.ward -> person
SELECT COUNT(*) FROM visits a, visits b WHERE a.person = a.person -> person
SELECT COUNT(*) FROM visits a, visits b WHERE a.person >= b.person -> 
SELECT COUNT(*) FROM visits a, visits b WHERE COALESCE(a.person, b.person) = b.person -> person
SELECT COUNT(*) FROM visits a, visits b WHERE CASE WHEN a.person = b.person THEN TRUE ELSE TRUE END -> person
SELECT COUNT(*) FROM visits a, LATERAL (SELECT * FROM visits) b -> 
SELECT COUNT(*) FROM visits a CROSS JOIN people -> person
SELECT COUNT(*) FROM visits JOIN people USING (version) -> person
SELECT COUNT(*) FROM visits JOIN people USING (nobody) -> both sides
SELECT COUNT(*) FROM visits a JOIN visits b USING (ward) -> person
SELECT COUNT(*) FROM wards LEFT JOIN visits USING (ward) -> left
SELECT COUNT(*) FROM visits RIGHT JOIN wards USING (ward) -> left
SELECT COUNT(*) FROM visits NATURAL JOIN (SELECT 1 AS one FROM people) AS p -> 
SELECT COUNT(*) FROM visits a ASOF JOIN visits b ON a.person = b.person -> 
SELECT COUNT(*) FROM visits a POSITIONAL JOIN visits b -> 

-- subqueries in conditions that would mix people
SELECT COUNT(*) FROM visits WHERE age IN (SELECT MAX(age) FROM visits) -> person
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits) -> person
SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT ward FROM visits WHERE person = 'eve') -> 
SELECT COUNT(*) FROM visits WHERE city IN (SELECT city FROM visits GROUP BY city HAVING COUNT(*) = 1) -> person
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.ward = v.ward) -> person
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person <> v.person) -> equal
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person = v.person OR TRUE) -> equal
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits) -> outer
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT COUNT(*) FROM visits w WHERE w.person = v.person) -> rows
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person = v.person GROUP BY ward) -> rows
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM people p, visits w WHERE w.person = v.person) -> person
SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits w WHERE w.day > v.day) -> equal
SELECT COUNT(*) FROM visits WHERE person IN (SELECT person FROM visits ORDER BY age LIMIT 1) -> subquery
SELECT COUNT(*) FROM visits WHERE person IN (SELECT person FROM visits LIMIT 1) -> subquery
SELECT COUNT(*) FROM visits WHERE person IN (SELECT * FROM visits) -> one column
SELECT COUNT(*) FROM visits WHERE (person, ward) IN (SELECT person, ward FROM visits) -> 
SELECT COUNT(*) FROM visits WHERE person <> ANY (SELECT person FROM visits) -> 
SELECT COUNT(*) FROM visits WHERE age > ALL (SELECT age FROM visits) -> 
SELECT COUNT(*) FROM visits WHERE age > SOME (SELECT age FROM visits) -> 
SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits) -> subquery
SELECT COUNT(*) FROM visits GROUP BY ward IN (SELECT ward FROM wards) -> 
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward IN (SELECT ward FROM wards) -> 
SELECT COUNT(*) FROM visits JOIN people ON visits.person = people.person AND visits.ward IN (SELECT ward FROM wards) -> 
SELECT COUNT(*) FROM visits WHERE person IN (SELECT person FROM visits UNION SELECT person FROM people) -> 
SELECT COUNT(*) FROM visits WHERE "__in0".k0 IS NULL -> reserved
SELECT COUNT(*) FROM visits AS __in0 WHERE ward IN (SELECT ward FROM wards) -> reserved
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward AS __k FROM wards) -> reserved

-- names with prefixes
SELECT COUNT(*) FROM sys.visits -> engine's own
SELECT COUNT(*) FROM temp.visits -> engine's own
SELECT COUNT(*) FROM pg_catalog.visits -> engine's own
SELECT COUNT(*) FROM main.information_schema.visits -> engine's own
WITH t AS (SELECT * FROM visits) SELECT COUNT(*) FROM main.t -> no such table
SELECT COUNT(*) FROM main.visits AS a, other.visits AS b WHERE a.person = b.person -> two schemas
SELECT COUNT(*) FROM visits WHERE main.people.born > 3 -> FROM does not name
SELECT COUNT(*) FROM "a.b.c.d" -> no such table
SELECT COUNT(*) FROM `visits"; DROP TABLE visits` -> back quotes
SELECT COUNT(*) FROM `visits -> back quotes
SELECT COUNT(*) FROM __visits -> reserved

-- windows over people
SELECT RANK() OVER (ORDER BY age) FROM visits -> window
SELECT MAX(RANK() OVER (ORDER BY age)) FROM visits -> 
SELECT COUNT(*) FROM visits QUALIFY RANK() OVER (ORDER BY age) = 1 -> 
SELECT ward, COUNT(*) FROM visits GROUP BY ward QUALIFY MAX(age) OVER () > 3 -> 
SELECT ward, FIRST_VALUE(age) OVER (ORDER BY ward) FROM visits GROUP BY ward -> 
SELECT ward, LAG(city) OVER (ORDER BY ward) FROM visits GROUP BY ward -> 
SELECT ward, COUNT(*) OVER (PARTITION BY person) FROM visits GROUP BY ward -> 
SELECT ward, SUM(COUNT(*)) OVER (ORDER BY person) FROM visits GROUP BY ward -> 
SELECT ward, SUM(COUNT(*)) OVER w FROM visits GROUP BY ward WINDOW w AS (ORDER BY ward) -> WINDOW
SELECT ward, SUM(SUM(COUNT(*)) OVER ()) OVER () FROM visits GROUP BY ward -> window
SELECT AVG(r) FROM (SELECT person, RANK() OVER (ORDER BY COUNT(*)) AS r FROM visits GROUP BY person) AS t -> window
SELECT person FROM visits GROUP BY person QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*)) = 1 -> people

-- keys that are people
SELECT DISTINCT person FROM visits -> people
SELECT DISTINCT ward, person FROM visits -> people
SELECT person AS ward, COUNT(*) FROM visits GROUP BY ALL -> people
SELECT person AS p FROM visits GROUP BY p -> people
SELECT person AS x, COUNT(*) FROM visits GROUP BY x -> people
SELECT DISTINCT * FROM visits -> released
SELECT DISTINCT temp FROM visits -> too fine

-- values and clauses that are not what they seem
SELECT COUNT(*) FROM visits WHERE age > ? -> no value
SELECT COUNT(*) FROM visits WHERE age > @low -> 
SELECT COUNT(*) FROM :table -> 
SELECT :column FROM visits -> 
SELECT COUNT(*) FROM visits LIMIT :n -> no value
SELECT TOP 5 PERCENT ward, COUNT(*) FROM visits GROUP BY ward -> 
SELECT TOP (SELECT 1) ward, COUNT(*) FROM visits GROUP BY ward -> 
SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 2 OFFSET -1 -> OFFSET
SELECT COUNT(*) FROM visits WHERE day = '2024-01-01'' OR ''1''=''1' -> date
SELECT COUNT(*) FROM visits WHERE day > '9999-99-99' -> date
SELECT COUNT(*) FROM visits WHERE moment > '2024-01-01T00:00:00+02:00' -> date
SELECT SUM(age // 0) FROM visits -> at least 1
SELECT SUM(age // -1) FROM visits -> at least 1
SELECT SUM(MOD(huge, 0)) FROM visits -> at least 1
SELECT WIDTH_BUCKET(age, 0, 100, 1000000), COUNT(*) FROM visits GROUP BY 1 -> buckets
SELECT COUNT(*) FROM visits WHERE DATEADD(day, age, day) > '2024-01-01' -> constant
SELECT COUNT(*) FROM visits WHERE DATEADD(day, 99999999, day) > '2024-01-01' -> 
SELECT COUNT(*) FROM visits WHERE CONTAINS(city, ward) -> constant
SELECT SUM(POWER(POWER(POWER(POWER(POWER(POWER(POWER(cost, 4), 4), 4), 4), 4), 4), 4)) FROM visits -> too many parts
SELECT SUM(TRUNC(TRUNC(TRUNC(TRUNC(TRUNC(TRUNC(TRUNC(TRUNC(TRUNC(TRUNC(cost))))))))))) FROM visits -> too many parts
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1e999) COUNT(*) FROM visits -> greater than 0
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 99) COUNT(*) FROM visits -> lowered
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (privacy_unit_column = "x") COUNT(*) FROM visits -> declared
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (noise_kind = laplace) COUNT(*) FROM visits -> not an option
SELECT DP_INTERVAL_LOW(age) FROM visits -> 
SELECT COUNT(*) FROM visits /* a /* b */ -> two ways
SELECT COUNT(*) FROM visits */ -> 

-- regular expressions, formats, quantiles by place, summaries of released rows, decimal keys
SELECT COUNT(*) FROM visits WHERE city ~ '[a-z]{3,}x?[^q]{2}' -> regular
SELECT COUNT(*) FROM visits WHERE city ~ '^a*b$' -> regular
SELECT COUNT(*) FROM visits WHERE city ~ '(a?)+b' -> regular
SELECT COUNT(*) FROM visits WHERE city ~ 'a{1000}' -> regular
SELECT COUNT(*) FROM visits WHERE city ~ '(.*)*' -> regular
SELECT COUNT(*) FROM visits WHERE city ~ 'a^b' -> regular
SELECT COUNT(*) FROM visits WHERE city ~ 'a$b' -> regular
SELECT COUNT(*) FROM visits WHERE city ~ '(?=a)b' -> regular
SELECT COUNT(*) FROM visits WHERE city ~ ward -> regular
SELECT COUNT(*) FROM visits WHERE city ~ '.*.*a.*b.*c.*d.*' -> four %
SELECT COUNT(*) FROM visits WHERE city ~ 'a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q' -> alternatives
SELECT COUNT(*) FROM visits WHERE REGEXP_LIKE(city, 'a', 'xs') -> flag
SELECT COUNT(*) FROM visits WHERE REGEXP_CONTAINS(city, CONCAT(ward, '.*')) -> regular
SELECT COUNT(*) FROM visits WHERE REGEXP_EXTRACT(city, 'a') = 'a' -> regular
SELECT COUNT(*) FROM visits WHERE city SIMILAR TO 'a[bc]' -> regular
SELECT COUNT(*) FROM visits WHERE city SIMILAR TO ward -> regular
SELECT TO_CHAR(day, 'YYYY-MM-IW'), COUNT(*) FROM visits GROUP BY 1 -> format
SELECT TO_CHAR(day, city), COUNT(*) FROM visits GROUP BY 1 -> format
SELECT STRFTIME(day, '%j'), COUNT(*) FROM visits GROUP BY 1 -> format
SELECT STRFTIME(day, ''), COUNT(*) FROM visits GROUP BY 1 -> format
SELECT STRFTIME(day, '%'), COUNT(*) FROM visits GROUP BY 1 -> format
SELECT FORMAT_DATE(day), COUNT(*) FROM visits GROUP BY 1 -> format
SELECT DATE_FORMAT(age, '%Y'), COUNT(*) FROM visits GROUP BY 1 -> date
SELECT APPROX_QUANTILES(age, 4)[9] FROM visits -> OFFSET
SELECT APPROX_QUANTILES(age, 4)[OFFSET(9)] FROM visits -> beyond
SELECT APPROX_QUANTILES(age, 4)[OFFSET(age)] FROM visits -> 
SELECT age[OFFSET(0)] FROM visits -> 
SELECT COUNT(*) FROM visits WHERE POSITION('a' IN city) > 1 -> compared with 0
SELECT COUNT(*) FROM visits WHERE POSITION(ward IN city) > 0 -> constant
SELECT SUM(POSITION('a' IN city)) FROM visits -> 
SELECT MIN(person) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) -> no such column
SELECT AVG(age) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) -> no such column
SELECT ward, AVG(n) FROM (SELECT ward, person, COUNT(*) AS n FROM visits GROUP BY ward, person) GROUP BY person -> one group per person
SELECT AVG(m) FROM (SELECT MAX(n) AS m FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) GROUP BY ward) -> 
SELECT person FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) GROUP BY person -> no such column
SELECT QUANTILE(n, 0.25) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) -> released rows
SELECT COUNT(DISTINCT n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) -> released rows
SELECT wild, COUNT(*) FROM visits GROUP BY wild -> fine
SELECT temp / 3, COUNT(*) FROM visits GROUP BY 1 -> fine
SELECT SQRT(cost), COUNT(*) FROM visits GROUP BY 1 -> fine
SELECT COUNT(*) FROM visits WHERE city = r'a -> 
SELECT COUNT(*) FROM visits WHERE city = R'a\' OR 1=1' -> 
SELECT COUNT(*) FROM visits WHERE ward = ALL(SELECT ward FROM wards) -> ALL
SELECT COUNT(*) FROM visits WHERE ward = ANY(city) -> ANY
SELECT COUNT(*) FROM visits WHERE ward = ANY(ARRAY[]) -> 
SELECT COUNT(*) FROM visits WHERE age > ANY(ARRAY[1, 2]) -> 
SELECT COUNT(*) FROM visits WHERE city LIKE ANY (ward, city) -> constant
SELECT COUNT(*) FROM visits WHERE city LIKE ALL ('a', 'b') -> 
SELECT ward, COUNT(*) FROM visits GROUP BY CUBE (ward) WITH ROLLUP -> 
SELECT COUNT(*) FROM visits GROUP BY ward WITH TOTALS -> 
SELECT COUNT(*) FROM visits WHERE moment > NOW(6) -> 

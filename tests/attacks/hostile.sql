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
[shop] SELECT COUNT(*) FROM items WHERE x > (SELECT COUNT(*) FROM orders) -> would let one person change every row
[shop] SELECT MAX(n) FROM (SELECT order_ref, COUNT(*) AS n FROM items GROUP BY order_ref) AS t -> answered
[shop] SELECT COUNT(*) FROM (SELECT id FROM orders UNION ALL SELECT id FROM items) AS t -> answered

-- first, last and n-th
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY day) AS n FROM visits) AS t WHERE n = 1 -> PARTITION BY
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY LOWER(person) ORDER BY day) AS n FROM visits) AS t WHERE n = 1 -> refused
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n FROM visits) AS t WHERE n <= age -> answered
SELECT n, COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n FROM visits) AS t GROUP BY n -> answered
SELECT SUM(n) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n FROM visits) AS t -> refused
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person, ward ORDER BY day) AS n FROM visits) AS t WHERE n = 1 -> answered
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY (SELECT 1)) AS n FROM visits) AS t WHERE n = 1 -> refused
SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS person FROM visits) AS t WHERE n = 1 -> refused

-- DISTINCT and set operations
SELECT DISTINCT person FROM visits -> one group per person
SELECT DISTINCT ON (person) ward FROM visits -> arbitrary row
SELECT DISTINCT * FROM visits -> private row
SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits) AS t -> aggregate over several people
SELECT COUNT(*) FROM visits INTERSECT SELECT COUNT(*) FROM visits -> refused
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
SELECT COUNT(*) FROM visits WHERE MAKE_DATE(age, 1, 1) < day -> three constants
SELECT COUNT(*) FROM visits WHERE MAKE_DATE(99999999999999999999, 1, 1) < day -> three constants
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
[postgres] SELECT age / 0 FROM visits -> whole number
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

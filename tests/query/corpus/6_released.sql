-- What is asked about several released tables, and beside a person's rows.

-- shares of totals
SELECT ward, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM visits) AS pct FROM visits GROUP BY ward ORDER BY pct DESC -> answered
SELECT ward, COUNT(*) / (SELECT COUNT(*) FROM visits WHERE flag) FROM visits WHERE flag GROUP BY ward -> answered
SELECT ward, AVG(cost) - (SELECT AVG(cost) FROM visits) AS above FROM visits GROUP BY ward -> answered
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > 0.1 * (SELECT COUNT(*) FROM visits) -> answered
SELECT (SELECT COUNT(*) FROM visits WHERE flag) * 1.0 / (SELECT COUNT(*) FROM people) AS rate -> answered
SELECT (SELECT COUNT(*) FROM visits) AS n == SELECT COUNT(*) FROM visits
SELECT ward, n, n * 1.0 / (SELECT SUM(n) FROM t) AS share FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t -> refused: no such table is declared >> WITH t AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT ward, n * 1.0 / (SELECT SUM(n) FROM t) AS share FROM t
WITH t AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT ward, n FROM t WHERE n >= (SELECT MAX(n) FROM t) == SELECT ward, COUNT(*) FROM visits GROUP BY ward
WITH t AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT ward, n, (SELECT ward FROM t ORDER BY n DESC LIMIT 1) AS first FROM t == SELECT ward, COUNT(*) FROM visits GROUP BY ward
SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits) -> refused: let an answer decide >> SELECT COUNT(*) FROM visits WHERE age > 42
SELECT ward, (SELECT ward FROM visits GROUP BY ward) FROM visits GROUP BY ward -> refused: may have many rows >> SELECT ward, (SELECT COUNT(*) FROM visits) FROM visits GROUP BY ward

-- one table beside another
WITH a AS (SELECT ward, COUNT(*) AS n FROM visits WHERE day < '2024-01-01' GROUP BY ward), b AS (SELECT ward, COUNT(*) AS n FROM visits WHERE day >= '2024-01-01' GROUP BY ward) SELECT a.ward, a.n, b.n, 100.0 * (b.n - a.n) / a.n AS growth FROM a JOIN b ON a.ward = b.ward ORDER BY growth DESC -> answered
WITH y AS (SELECT EXTRACT(YEAR FROM day) AS y, COUNT(*) AS n FROM visits GROUP BY 1) SELECT c.y, c.n, p.n AS before FROM y c LEFT JOIN y p ON p.y = c.y - 1 == SELECT EXTRACT(YEAR FROM day), COUNT(*) FROM visits GROUP BY 1
WITH v AS (SELECT COUNT(DISTINCT person) AS n FROM visits WHERE ward = 'A'), b AS (SELECT COUNT(DISTINCT person) AS n FROM visits WHERE ward = 'B') SELECT b.n * 1.0 / v.n AS conversion FROM v CROSS JOIN b -> answered
WITH a AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward), b AS (SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward) SELECT * FROM a NATURAL JOIN b -> answered
WITH a AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward), b AS (SELECT flag, COUNT(*) AS m FROM visits GROUP BY flag), c AS (SELECT ward, flag, n * m AS k FROM a, b) SELECT ward, SUM(k) FROM c GROUP BY ward HAVING SUM(k) > 3 -> answered
SELECT 'visits' AS what, COUNT(*) AS n FROM visits UNION ALL SELECT 'people', COUNT(*) FROM people ORDER BY n DESC -> answered
SELECT ward, COUNT(*) FROM visits GROUP BY ward UNION ALL SELECT 'all', COUNT(*) FROM visits -> answered
SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2) AS top == SELECT ward, COUNT(*) FROM visits GROUP BY ward
SELECT ward, RANK() OVER (ORDER BY share DESC) FROM (SELECT ward, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward) AS t == SELECT ward, COUNT(*) FROM visits GROUP BY ward
SELECT w.floor, t.n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t JOIN wards w ON w.ward = t.ward -> refused: join it inside >> SELECT w.floor, COUNT(*) FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY w.floor
SELECT ward FROM visits GROUP BY ward EXCEPT SELECT ward FROM visits WHERE flag GROUP BY ward -> answered

-- lists of released values
SELECT STRING_AGG(ward, ', ' ORDER BY n DESC) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t == SELECT ward, COUNT(*) FROM visits GROUP BY ward
SELECT flag, LISTAGG(ward, '/') WITHIN GROUP (ORDER BY n) FROM (SELECT ward, flag, COUNT(*) AS n FROM visits GROUP BY ward, flag) AS t GROUP BY flag -> answered
SELECT STRING_AGG(city, ', ') FROM visits -> refused: shows what single rows hold >> SELECT city, COUNT(*) FROM visits GROUP BY city
SELECT ARRAY_AGG(ward) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t -> refused: a list of values >> SELECT STRING_AGG(ward, ',') FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t

-- values and rows of the same person
SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.person = p.person) >= 3 -> answered
SELECT AVG(CLAMP((SELECT SUM(v.cost) FROM visits v WHERE v.person = p.person), 0, 100)) FROM people p -> answered
SELECT COUNT(*) FROM visits v WHERE v.cost > (SELECT AVG(w.cost) FROM visits w WHERE w.person = v.person) -> answered
SELECT COUNT(*) FROM visits v WHERE v.cost > (SELECT AVG(w.cost) FROM visits w WHERE w.ward = v.ward) -> refused: group by the person >> SELECT COUNT(*) FROM visits v WHERE v.cost > (SELECT AVG(w.cost) FROM visits w WHERE w.person = v.person)
SELECT COUNT(*) FROM visits v JOIN LATERAL (SELECT p.born FROM people p WHERE p.person = v.person) AS x ON TRUE WHERE x.born < 1980 -> answered
SELECT COUNT(*) FROM people p CROSS JOIN LATERAL (SELECT * FROM visits v WHERE v.person = p.person ORDER BY v.day DESC LIMIT 1) AS x WHERE x.flag -> answered
SELECT COUNT(*) FROM people p, LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE v.person = p.person) AS x WHERE x.n > 1 -> refused: is 0 for those >> SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.person = p.person) > 1
SELECT ward, COUNT(*) FROM (SELECT DISTINCT ON (person) person, ward FROM visits ORDER BY person, day) AS f GROUP BY ward -> answered
SELECT DISTINCT ON (ward) ward, flag, COUNT(*) FROM visits GROUP BY ward, flag ORDER BY ward, COUNT(*) DESC == SELECT ward, flag, COUNT(*) FROM visits GROUP BY ward, flag
SELECT COUNT(*) FROM (SELECT DISTINCT ON (person) person, ward FROM visits) AS f -> refused: unless ORDER BY says which >> SELECT COUNT(*) FROM (SELECT DISTINCT ON (person) person, ward FROM visits ORDER BY person, day) AS f

-- parts of texts
SELECT COUNT(*) FROM visits WHERE city ~ '[A-Z]{2}-[0-9]{3}' -> answered
SELECT COUNT(*) FROM visits WHERE city ~ '[a-z][a-f]' -> refused: common characters >> SELECT COUNT(*) FROM visits WHERE city ~ '[g-z][a-f]'
SELECT REGEXP_REPLACE(city, '[0-9]+', '', 'g') AS c, COUNT(*) FROM visits GROUP BY 1 -> answered
SELECT REGEXP_REPLACE(city, '[0-9]', '') AS c, COUNT(*) FROM visits GROUP BY 1 -> refused: every one is meant >> SELECT REGEXP_REPLACE(city, '[0-9]', '', 'g') AS c, COUNT(*) FROM visits GROUP BY 1
SELECT REGEXP_REPLACE(city, '[^0-9]', '', 'g') AS c, COUNT(*) FROM visits GROUP BY 1 -> refused: write REPLACE >> SELECT TRANSLATE(city, 'abc', '') AS c, COUNT(*) FROM visits GROUP BY 1
SELECT REGEXP_EXTRACT(city, '^(.)') AS c, COUNT(*) FROM visits GROUP BY 1 -> refused: cut the text at places >> SELECT LEFT(city, 1) AS c, COUNT(*) FROM visits GROUP BY 1

-- tables turned
SELECT * FROM (SELECT ward, flag FROM visits) PIVOT (COUNT(*) FOR ward IN ('A', 'B', 'C')) -> answered
SELECT flag, a_n / b_n AS rate FROM (SELECT flag, ward FROM visits) PIVOT (COUNT(*) AS n FOR ward IN ('A', 'B')) -> answered
SELECT * FROM visits PIVOT (COUNT(*) FOR ward IN ('A')) -> refused: select those that matter first >> SELECT * FROM (SELECT flag, ward FROM visits) PIVOT (COUNT(*) FOR ward IN ('A'))
SELECT k, COUNT(*) FROM visits v JOIN (VALUES ('A', 'first')) AS x(w, k) ON v.ward = x.w GROUP BY k -> refused: say it with CASE >> SELECT CASE WHEN ward = 'A' THEN 'first' ELSE 'other' END AS k, COUNT(*) FROM visits GROUP BY k

-- SPDX-License-Identifier: MIT
-- Copyright (c) 2026 the lido authors
--
-- script/demo: a generated database of :rows rows (strings of 0 to 600 bytes), its indexes, an update and a delete of a
-- tenth each, and queries that group, join, concatenate and build JSON. Every number comes from a fixed generator, so that
-- each malloc must print the same.
PRAGMA journal_mode = MEMORY;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -65536;

CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, class INTEGER, body TEXT);
WITH RECURSIVE step(i, x) AS (
  SELECT 1, 12345
  UNION ALL
  SELECT i + 1, (x * 1103515245 + 12345) & 2147483647 FROM step WHERE i < :rows)
INSERT INTO item SELECT i, printf('item-%08x', x), (x >> 8) % 499, hex(zeroblob((x >> 12) % 300)) || i FROM step;
CREATE INDEX item_class ON item(class, name);
CREATE TABLE class AS SELECT class AS id, 'class ' || class AS title, count(*) AS members FROM item GROUP BY class;
CREATE UNIQUE INDEX class_id ON class(id);

BEGIN;
UPDATE item SET body = body || name || body WHERE id % 10 = 3;
DELETE FROM item WHERE id % 10 = 7;
COMMIT;

SELECT count(*), sum(length(body)), max(name) FROM item;
SELECT c.title, c.members, count(*), group_concat(i.name, ',')
  FROM class c JOIN item i ON i.class = c.id GROUP BY c.id ORDER BY c.title;
SELECT length(json_group_array(json_object('id', id, 'name', name, 'class', class))) FROM item;
SELECT json_extract(value, '$.n'), count(*)
  FROM item, json_each(json_array(json_object('n', class % 7), json_object('n', item.id % 5))) GROUP BY 1 ORDER BY 1;
SELECT a.name, b.name FROM item a JOIN item b ON b.class = a.class AND b.id > a.id
  WHERE a.id % 997 = 0 ORDER BY a.name DESC, b.name LIMIT 500;
SELECT substr(body, -8), length(body) FROM item ORDER BY length(body) DESC, id LIMIT 200;
VACUUM;
PRAGMA integrity_check;

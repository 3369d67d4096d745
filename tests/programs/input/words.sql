-- SPDX-License-Identifier: MIT
-- Copyright (c) 2026 the lido authors
--
-- sqlite3 under test: a full-text index, its snippets and merges; a soft limit on memory; a dump of everything.
create virtual table note using fts5(title, body);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
  insert into note
  select 'title ' || i % 97, printf('word%d ', i % 31) || printf('other%d ', i % 17) || hex(i * i) from n;
select count(*), sum(length(snippet(note, 1, '[', ']', '..', 8))) from note where note match 'word7 or other3*';
insert into note(note) values('optimize');
insert into note(note) values('integrity-check');
pragma soft_heap_limit = 300000;
select count(distinct body) from note;
.dump

-- SPDX-License-Identifier: MIT
-- Copyright (c) 2026 the lido authors
--
-- postgresql under test: sorts and hashes that spill, parallel workers, JSON, recursion, regular expressions, exceptions.
create table item as
  select i as id, (i * 7919) % 1009 as class, md5(i::text) as name, repeat(md5(i::text), i % 20) as body
  from generate_series(1, 30000) i;
create index on item(class, name);
analyze;
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
set work_mem = '256kB';

select count(*), sum(length(body)), max(name) from item;
select class, count(*), string_agg(name, ',' order by name) from item where class < 20 group by class order by class;
select count(*) from item a join item b on a.class = b.class and a.id < b.id where a.name > 'f';
select jsonb_object_agg(class, total)
  from (select class, sum(id) total from item group by class order by class limit 40) t;
with recursive t(n, s) as (select 1, 'x' union all select n + 1, s || n from t where n < 300)
  select max(length(s)) from t;
select count(distinct regexp_replace(name, '[0-9]+', '#', 'g')) from item;
do $$
declare
  text text := '';
begin
  for i in 1..3000 loop
    text := text || i;
    begin
      perform 1 / (i % 50);
    exception when division_by_zero then
      null;
    end;
  end loop;
  raise notice '%', length(text);
end $$;
delete from item where id % 3 = 0;
vacuum full item;
select count(*) from item;

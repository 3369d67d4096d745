# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Servers on loopback ports of their own: redis, memcached, nginx, postgresql. Clients run on libc's malloc in both runs."""

import concurrent.futures
import contextlib
import gzip
import hashlib
import os
import re
import shutil
import signal
import socket
import threading
import urllib.request
from pathlib import Path

import procs
from harness import Fault, case, unprivileged

POSTGRES = "/usr/lib/postgresql/15/bin"
LOCAL = "127.0.0.1"


@case({"redis-server": "redis-server", "redis-cli": "redis-tools", "redis-benchmark": "redis-tools"}, ["redis-server --version"],
      quick=True)
def redis(s):
    """Data of every type, a load with I/O threads, lua scripts, expiry, a background save (fork), the file read back."""
    port = procs.free_port()
    cli = ["redis-cli", "-h", LOCAL, "-p", str(port)]
    server = s.server("redis-server", "--bind", LOCAL, "--port", port, "--save", "", "--dir", s.dir, "--io-threads", 2,
                      "--io-threads-do-reads", "yes", "--enable-debug-command", "local", "--lazyfree-lazy-user-del", "yes",
                      "--hash-max-listpack-entries", 8, ready=lambda: procs.listens(port))
    s.outside(*cli, "--pipe", stdin=resp(redis_commands(4000)), output=False)
    s.outside("redis-benchmark", "-h", LOCAL, "-p", port, "-q", "--dbnum", 1, "-c", 10, "-P", 16, "-n", 4000,
              "-r", 5000, "-d", 700, "-t", "set,get,incr,lpush,rpop,sadd,hset,spop,zadd,mset", output=False)
    s.outside(*cli, "-n", "1", "FLUSHDB", "ASYNC")
    s.outside(*cli, stdin=b"DEBUG DIGEST\nBGSAVE\nEVAL \"local t = {} for i = 1, 20000 do t[i] = string.rep('x', i % 90) end"
              b" return #table.concat(t)\" 0\nSORT list:3 ALPHA LIMIT 0 30\nZUNIONSTORE all 3 zset:1 zset:2 zset:3\nDEL big")
    if not procs.wait_until(lambda: b"rdb_bgsave_in_progress:0" in ask(port, b"INFO persistence\r\nPING\r\n", b"+PONG"), 15, server):
        raise Fault("the background save did not end")
    s.outside(*cli, stdin=b"DEBUG RELOAD\nDBSIZE\nDEBUG DIGEST\nHGETALL hash:11\nXRANGE stream - + COUNT 3\nMEMORY PURGE\n")
    s.check(b"rdb_last_bgsave_status:ok" in ask(port, b"INFO persistence\r\nPING\r\n", b"+PONG"), "the background save failed")
    s.outside(*cli, "SHUTDOWN", "NOSAVE")
    s.stop(server)


def redis_commands(count):
    x = 12345
    for i in range(count):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        value = f"{x:08x}" * ((x >> 9) % 90 + 1)
        yield ("SET", f"string:{x % (count * 2)}", value)
        yield ("RPUSH", f"list:{i % 40}", value[:x % 64 + 1])
        yield ("HSET", f"hash:{i % 70}", f"field:{x % 90}", value[:40])
        yield ("ZADD", f"zset:{i % 9}", str(x % 100000), f"member:{x % 5000}")
        yield ("SADD", "set", str(x % 3000))
        yield ("APPEND", f"text:{i % 20}", value)
        yield ("XADD", "stream", "MAXLEN", "500", f"{i + 1}-1", "v", value[:30])
        if i % 3 == 0:
            yield ("DEL", f"string:{(x >> 4) % (count * 2)}", f"hash:{x % 70}")
    yield ("SET", "big", "b" * 3_000_000)


def resp(commands):
    """Commands in redis' wire protocol."""
    out = []
    for words in commands:
        out.append(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
    return b"".join(out)


def ask(port, request, until):
    """Sends bytes, reads until an answer holds `until`."""
    with socket.create_connection((LOCAL, port), timeout=10) as link:
        link.sendall(request)
        answer = b""
        while until not in answer:
            part = link.recv(65536)
            if not part:
                break
            answer += part
        return answer


@case({"memcached": "memcached"}, ["memcached --version"], quick=True)
def memcached(s):
    """Four worker threads, more data than its limit (eviction), values to 600 KB, incr, cas, flush_all under load."""
    port = procs.free_port()
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    server = s.server("memcached", "-l", LOCAL, "-p", port, "-U", 0, "-t", 4, "-m", 24, *user, ready=lambda: procs.listens(port))
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        s.fact("what six clients read", sorted(pool.map(lambda n: memcached_client(port, n), range(6))))
    answer = ask(port, b"set n 0 0 2\r\n41\r\nincr n 1\r\nget n\r\nappend n 0 0 1\r\n!\r\ngets n\r\ntouch n 100\r\nversion\r\n", b"VERSION")
    s.fact("counter", re.sub(rb"VERSION.*|(VALUE n 0 \d+) \d+", rb"\1", answer))
    stats = ask(port, b"stats\r\n", b"END\r\n")
    s.check(b"STAT curr_items" in stats, "no statistics")
    server.signal(signal.SIGTERM)
    s.stop(server)


def memcached_client(port, number):
    """Sets, gets and deletes keys of its own at once after each other; returns a hash of what came back."""
    seen = hashlib.sha256()
    with socket.create_connection((LOCAL, port), timeout=20) as link, link.makefile("rb") as lines:
        for i in range(1500):
            size = (i * 7919 + number * 31) % 3000 + 1 if i % 100 else 600_000
            value = bytes([97 + i % 26]) * size
            link.sendall(b"set k%d.%d 0 0 %d\r\n%s\r\nget k%d.%d\r\n" % (number, i, size, value, number, i))
            seen.update(lines.readline())
            head = lines.readline()
            seen.update(head)
            if head.startswith(b"VALUE"):
                seen.update(lines.read(int(head.split()[3]) + 2) + lines.readline())
            if i % 3 == 0:
                link.sendall(b"delete k%d.%d\r\n" % (number, i))
                seen.update(lines.readline())
    return seen.hexdigest()


NGINX = """
worker_processes 2; daemon off; master_process on; pid nginx.pid; error_log error.log warn; {user}
events {{ worker_connections 512; }}
http {{
  access_log off; gzip on; gzip_min_length 100; gzip_types text/plain; types {{ text/plain txt; }} default_type text/plain;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
  server {{
    listen 127.0.0.1:{port};
    root files;
    location /made {{ return 200 "made for $request_uri by $request_method\\n"; }}
    location /through/ {{ proxy_pass http://127.0.0.1:{port}/; proxy_buffers 8 16k; }}
    rewrite ^/old/(.*)$ /made/$1 last;
  }}
}}
"""


@case({"nginx": "nginx-light", "wrk": "wrk"}, ["nginx -v"], quick=True)
def nginx(s):
    """Files, gzip, proxy to itself, rewriting; wrk for a second on 60 connections; reload under load; graceful end."""
    port = procs.free_port()
    s.path("nginx.conf", NGINX.format(port=port, user="user nobody nogroup;" if os.geteuid() == 0 else ""))
    for i in range(20):
        s.path(f"files/f{i}.txt", f"line {i} of a file\n" * (i * i * 40 + 1))
    server = s.server("nginx", "-p", f"{s.dir}/", "-c", f"{s.dir}/nginx.conf", "-e", f"{s.dir}/error.log", log="error.log",
                      ready=lambda: procs.listens(port) and len(procs.children(server_pid(s))) >= 2)
    base = f"http://{LOCAL}:{port}"
    pages = [f"/f{i}.txt" for i in range(20)] + ["/made/x?y=1", "/old/thing", "/through/f7.txt", "/through/made", "/none"]
    s.fact("pages before the load", [fetched(base + page) for page in pages])
    for path in ("/f3.txt", "/through/f9.txt"):
        reload = threading.Timer(0.5, server.signal, [signal.SIGHUP])
        reload.start()
        report = s.outside("wrk", "-t1", "-c30", "-d1s", "-H", "Accept-Encoding: gzip", base + path, output=False)
        reload.join()
        # Connections that a worker closes as it goes are read errors to wrk; wrong answers and refusals must not be.
        s.check("Non-2xx" not in report and not re.search("connect [1-9]|timeout [1-9]", report), f"wrk saw errors: {report[-200:]}")
    s.fact("pages after it", [fetched(base + page) for page in pages])
    server.signal(signal.SIGQUIT)
    s.stop(server)
    log = s.path("error.log").read_text()
    s.check("exited on signal" not in log and "[alert]" not in log, f"nginx's log: {log[-300:]}")


def server_pid(s):
    """The pid that nginx wrote, once it has; nobody's before."""
    with contextlib.suppress(OSError, ValueError):
        return int(s.path("nginx.pid").read_text())
    return 0


def fetched(url):
    """(status, hash of the body) of a page, asked for with gzip."""
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10) as answer:
            body, status, packed = answer.read(), answer.status, answer.headers.get("Content-Encoding") == "gzip"
    except urllib.error.HTTPError as error:
        body, status, packed = error.read(), error.code, False
    return status, hashlib.sha256(gzip.decompress(body) if packed else body).hexdigest()


QUERIES = """
create table item as select i as id, (i * 7919) % 1009 as class, md5(i::text) as name, repeat(md5(i::text), i % 20) as body
  from generate_series(1, 30000) i;
create index on item(class, name);
analyze;
set max_parallel_workers_per_gather = 2; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
set work_mem = '256kB';
select count(*), sum(length(body)), max(name) from item;
select class, count(*), string_agg(name, ',' order by name) from item where class < 20 group by class order by class;
select count(*) from item a join item b on a.class = b.class and a.id < b.id where a.name > 'f';
select jsonb_object_agg(class, total) from (select class, sum(id) total from item group by class order by class limit 40) t;
with recursive t(n, s) as (select 1, 'x' union all select n + 1, s || n from t where n < 300) select max(length(s)) from t;
select count(distinct regexp_replace(name, '[0-9]+', '#', 'g')) from item;
do $$ declare text text := ''; begin for i in 1..3000 loop text := text || i; begin perform 1 / (i % 50); exception when division_by_zero
  then null; end; end loop; raise notice '%', length(text); end $$;
delete from item where id % 3 = 0; vacuum full item; select count(*) from item;
"""


@case({f"{POSTGRES}/initdb": "postgresql-15", f"{POSTGRES}/pgbench": "postgresql-15"}, [f"{POSTGRES}/postgres --version"], limit=150)
def postgresql(s):
    """initdb, a server of many processes, parallel queries, pgbench on four connections, dump, backends that come and go."""
    user, port = unprivileged(), procs.free_port()
    data = s.path("data")
    s.cmd(f"{POSTGRES}/initdb", "-D", data, "-A", "trust", "-U", "lido", "-N", "--no-instructions", user=user, output=False)
    argv = [f"{POSTGRES}/postgres", "-D", data, "-p", port, "-c", f"listen_addresses={LOCAL}", "-k", s.dir, "-c", "fsync=off",
            "-c", "shared_buffers=16MB", "-c", "max_connections=20", "-c", "log_min_messages=warning"]
    link = ["-h", LOCAL, "-p", port, "-U", "lido"]
    server = s.server(*argv, user=user,
                      ready=lambda: procs.run([f"{POSTGRES}/pg_isready", "-q", *link], s.dir, procs.base_env(s.dir), 5, name="isready").status == 0)
    # psql and pgbench run on the malloc under test as well.
    s.cmd("psql", *link, "-d", "postgres", "-X", "-q", "-v", "ON_ERROR_STOP=1", stdin=QUERIES.encode())
    s.cmd(f"{POSTGRES}/pgbench", *link, "-i", "-s", 1, "-q", "postgres", output=False, stderr=False)
    s.cmd(f"{POSTGRES}/pgbench", *link, "-n", "-c", 4, "-j", 2, "-t", 150, "-M", "prepared", "--random-seed=7", "postgres", output=False)
    s.cmd(f"{POSTGRES}/pgbench", *link, "-n", "-c", 2, "-t", 25, "-C", "-S", "--random-seed=7", "postgres", output=False)
    s.cmd("psql", *link, "-d", "postgres", "-X", "-A", "-t", "-c", "select count(*), sum(abalance) = (select sum(delta) from pgbench_history)"
          " from pgbench_accounts; select count(*) from pgbench_history")
    dump = s.cmd(f"{POSTGRES}/pg_dump", *link, "-t", "item", "postgres", output=False)
    s.fact("dump", hashlib.sha256(re.sub(r"(?m)^(--|\\).*$", "", dump).encode()).hexdigest())
    server.signal(signal.SIGINT)
    s.stop(server)
    log = server.stderr.read_text()
    s.check("was terminated by signal" not in log and "PANIC" not in log, f"postgres' log: {log[-300:]}")
    shutil.rmtree(Path(data), ignore_errors=True)

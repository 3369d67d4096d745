# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""A data set for redis, the same each time, as input for redis-cli --pipe; used by tools/demo and tests/programs."""


def commands(count):
    """Strings, lists, hashes, sets, sorted sets and a stream, 1 to 720 bytes a value; a third is deleted again."""
    x = 12345
    for i in range(count):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        value = f"{x:08x}" * ((x >> 9) % 90 + 1)
        yield "SET", f"string:{x % (count * 2)}", value
        yield "RPUSH", f"list:{i % 200}", value[: x % 64 + 1]
        yield "HSET", f"hash:{i % 300}", f"field:{x % 90}", value[:40]
        yield "ZADD", f"zset:{i % 40}", str(x % 100000), f"member:{x % 5000}"
        yield "SADD", "set", str(x % 3000)
        yield "APPEND", f"text:{i % 20}", value
        yield "XADD", "stream", "MAXLEN", "500", f"{i + 1}-1", "v", value[:30]
        if i % 3 == 0:
            yield "DEL", f"string:{(x >> 4) % (count * 2)}", f"hash:{x % 300}"
    yield "SET", "big", "b" * 3_000_000


def pipe(count):
    """The commands in redis' wire protocol."""
    return b"".join(_encoded(words) for words in commands(count))


def _encoded(words):
    parts = [word.encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)

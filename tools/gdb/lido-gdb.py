# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""Commands of gdb for programs that use lido: `lido pools | block ADDRESS | heap | leaks | threads`.

    (gdb) source lido-gdb.py            not needed where liblido.so is installed with this file (auto-load)

They read memory and debug information and call nothing in the program, so they work on a stopped process and on a core.
A process may hold several lidos (a program linked with one that runs on lido's malloc): each is asked.

    Lido        one of them: its variables, found by name and source file
    Pool        struct lido_pool; where its free blocks are
    find_*      what an address is
    Command     the words behind `lido`

Names of variables, fields and source files are those of src/; numbers that no type in the debug information holds stand
below, and tests/gdb compares what comes of them. Stopped in the middle of a call, a list may be half changed: walks are
bounded, and what cannot be read is said, not guessed.
"""

import struct
import time

import gdb

SLICE_BYTES, SEGMENT_BYTES = 1 << 16, 1 << 25
BIN_BYTES = 16
DEPOT_COUNT_SHIFT = 48
POOL_END = 1
THREADS = ("local", "shared", "confined")
ORDERS = ("lifo", "fifo")
LEVELS = ("default", "off", "light", "sample", "guard", "page")
RUN_FREE, RUN_SLAB, RUN_LARGE, RUN_META, RUN_BUMP, RUN_CHECK = range(6)
RECORD_FREE, RECORD_LIVE, RECORD_BUSY, RECORD_RESTING = range(4)
CALLS = ("malloc", "new", "new[]", "lido_pool_alloc", "lido_arena_alloc")
ENDS = ("", "by reset", "by destroy", "by rewind")
STATES = ("never given out", "alive", "freed")
STACK_UNIT, STACK_CHUNK_UNITS, STACK_DEPTH_MAX, OWN_FRAMES_MAX = 16, 1 << 16, 24, 8
PAGE = 4096


# --- reading --------------------------------------------------------------------------------------------------------

class Memory:
    """Pages of the program, each read once for a command."""

    def __init__(self):
        self.pages = {}
        self.inferior = gdb.selected_inferior()

    def read(self, address, count):
        return self.inferior.read_memory(address, count).tobytes()

    def word(self, address):
        page = address & ~(PAGE - 1)
        if page not in self.pages:
            self.pages[page] = self.read(page, PAGE)
        at = address - page
        if at > PAGE - 8:
            return int.from_bytes(self.read(address, 8), "little")
        return int.from_bytes(self.pages[page][at:at + 8], "little")

    def chain(self, first, limit):
        """Blocks of a free list. Ends early where a link cannot be read."""
        block = first
        while block > POOL_END and limit > 0:
            yield block
            limit -= 1
            try:
                block = self.word(block)
            except gdb.MemoryError:
                return


class Layout:
    """Fields of a structure that is read in bulk."""

    def __init__(self, type_):
        self.bytes = type_.sizeof
        self.fields = {f.name: (f.bitpos // 8, f.type.sizeof) for f in type_.fields()}

    def get(self, data, base, name):
        offset, size = self.fields[name]
        return int.from_bytes(data[base + offset:base + offset + size], "little")


def text_of(value):
    return value.string(errors="replace")


def offset_of(type_, field):
    return type_[field].bitpos // 8


def plural(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def table(rows, right):
    """Lines with columns lined up; `right` are the numbers of those to be flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


# --- one lido -------------------------------------------------------------------------------------------------------

class Lido:
    def __init__(self, symtab):
        self.objfile = symtab.objfile
        self.name = (self.objfile.owner or self.objfile).filename
        self.block = symtab.static_block()
        # in that file's own block: a look-up by name could give the declaration of another file, or another lido
        self.window = next(s for s in symtab.global_block() if s.name == "lido__the_window").value()
        self.memory = Memory()

    def variable(self, name, file):
        for symbol in gdb.lookup_static_symbols(name):
            if symbol.symtab.objfile == self.objfile and symbol.symtab.filename.endswith(file):
                return symbol.value()
        raise gdb.GdbError(f"lido: {self.name} has no debug information on {name} of {file}; build lido with -g")

    def type(self, name):
        return gdb.lookup_type(name, self.block)

    def pools(self):
        pool = self.variable("all_pools", "src/pool/registry.c")
        pools = []
        while pool != 0 and len(pools) < 100000:
            pools.append(Pool(self, pool.dereference()))
            pool = pools[-1].value["next"]
        return pools[::-1]    # the oldest first

    def threads(self):
        thread = self.variable("all_threads", "src/pool/thread.c")
        threads = []
        while thread != 0 and len(threads) < 100000:
            threads.append(thread.dereference())
            thread = threads[-1]["next"]
        return threads[::-1]

    def thread_names(self):
        """From addresses of thread structures to words for their threads, as far as gdb can read their variables."""
        names = {}
        symbol = gdb.lookup_global_symbol("lido__self")
        selected, frame = gdb.selected_thread(), gdb.selected_frame()
        for thread in gdb.selected_inferior().threads():
            try:
                thread.switch()
                names[int(symbol.value(gdb.newest_frame()))] = f"thread {thread.num} (LWP {thread.ptid[1]})"
            except (gdb.error, AttributeError):
                continue    # no libthread_db for this C library
        selected.switch()
        frame.select()
        return names

    def thread_name(self, thread):
        if not hasattr(self, "named"):
            self.named = self.thread_names()
        return self.named.get(int(thread.address), f"the thread with its bins at {int(thread.address):#x}")

    def entry(self, address):
        index = (address - int(self.window["base"]) & (1 << 64) - 1) >> 16
        return int(self.window["table"][index]) if index < int(self.window["slices"]) else 0

    def segment(self, address):
        """The segment in which an address lies, or None."""
        base = int(self.window["base"])
        slot = address - base >> 25
        if int(self.window["slices"]) == 0 or slot < 0 or slot >= int(self.variable("slot_count", "src/slab/segment.c")):
            return None
        if int(self.variable("slot_used", "src/slab/segment.c")[slot]) == 0:
            return None
        pointer = gdb.Value(address & ~(SEGMENT_BYTES - 1)).cast(self.type("lido__segment").pointer())
        return pointer.dereference()

    def slab(self, segment, address):
        index = address >> 16 & SEGMENT_BYTES // SLICE_BYTES - 1
        index -= int(segment["slabs"][index]["back"])
        return index, segment["slabs"][index]

    def zones(self):
        zone = self.variable("all_zones", "src/check/zone.c")
        while zone != 0:
            yield zone.dereference()
            zone = zone["next"]

    def sources(self):
        source = self.variable("all_sources", "src/check/source.c")
        while source != 0:
            yield source.dereference()
            source = source["next"]

    def ago(self, stamp):
        """How long ago a stamp of the clock was, in words; of a core nobody knows."""
        connection = gdb.selected_inferior().connection
        if connection is None or connection.type != "native":
            return ""
        return f", {int(time.clock_gettime(6) * 1000) - stamp & 0xFFFFFFFF} ms ago"    # CLOCK_MONOTONIC_COARSE


def lidos():
    """All lidos of the process; at least one."""
    if gdb.selected_thread() is None:
        raise gdb.GdbError("lido: there is no thread to look at; start the program, attach to it, or load a core that is whole")
    found = [s.symtab for s in gdb.lookup_static_symbols("slot_used") if s.symtab.filename.endswith("src/slab/segment.c")]
    if found:
        return [Lido(symtab) for symtab in found]
    for objfile in gdb.objfiles():
        if "/liblido" in objfile.filename:
            raise gdb.GdbError(f"lido: {objfile.filename} has no debug information; use one built with -g (as script/build "
                               "does) and not stripped")
    raise gdb.GdbError("lido: there is no lido in this program, or it was built without -g or stripped")


# --- pools ----------------------------------------------------------------------------------------------------------

class Pool:
    def __init__(self, lido, value):
        self.lido, self.value = lido, value
        self.address = int(value.address)
        self.slabs = value["slabs"]
        self.name = text_of(value["name"])
        self.way = str(value["way"]).replace("LIDO__WAY_", "").lower()
        self.bytes = int(self.slabs["block_bytes"])
        self.bin = int(value["bin"])
        self.anonymous = bool(value["anonymous"])
        self.is_class = self.anonymous and self.name == "malloc" and int(value["heap"]) == 0
        self.threads = THREADS[int(value["threads"])]
        self.order = ORDERS[int(value["order"])]
        self.check = LEVELS[int(value["check"])]

    def describe(self):
        if self.is_class:
            return f"malloc's class of {self.bytes} bytes"
        if self.anonymous:
            return f"the class of {self.bytes} bytes of heap '{self.name}'" if int(self.value["heap"]) else "lido's own pools"
        return f"pool '{self.name}'"

    def held_bytes(self):
        return int(self.slabs["slab_count"]) * int(self.slabs["slab_slices"]) * SLICE_BYTES

    def fresh_range(self):
        return int(self.value["fresh_next"]), int(self.value["fresh_end"])

    def places(self):
        """Lists of free blocks outside of the slabs: (where, first block, count or None if it must be walked)."""
        if self.way == "face":
            yield "in the pool's free list", int(self.value["face"]["free"]), None
        if self.way == "stock":
            yield "in the pool's queue", int(self.value["stock_first"]), None
        if self.bin == 0:
            return
        index = self.bin // BIN_BYTES
        for thread in self.lido.threads():
            bin_, back = thread["bins"][index], thread["backs"][index]
            batch, who = int(back["batch"]), thread
            if batch == 0:
                continue
            if int(bin_["head"]):
                yield ("in the bin of", who), int(bin_["head"]), batch - int(bin_["room"])
            if int(back["spare"]):
                yield ("in the spare batch of", who), int(back["spare"]), int(back["spare_count"])
        for i in range(8):
            packed = int(self.value["depot"]["slots"][i])
            if packed:
                yield f"in the depot, slot {i}", packed & (1 << DEPOT_COUNT_SHIFT) - 1, packed >> DEPOT_COUNT_SHIFT

    def where_free(self, block):
        """In which list outside of the slabs a block is; None: in none."""
        start, end = self.fresh_range()
        if start <= block < end:
            return "never given out yet, in the pool's fresh range"
        for where, first, _ in self.places():
            if block in self.lido.memory.chain(first, int(self.slabs["issued"]) + 1):
                return where if isinstance(where, str) else f"{where[0]} {self.lido.thread_name(where[1])}"
        return None

    def live(self):
        if self.way in ("stock", "checked"):
            return int(self.value["live"])
        issued = int(self.slabs["issued"])
        start, end = self.fresh_range()
        outside = (end - start) // self.bytes
        for _, first, count in self.places():
            outside += count if count is not None else sum(1 for _ in self.lido.memory.chain(first, issued))
        return max(issued - outside, 0)

    def high_water(self):
        return int(self.slabs["issued_most"] if self.bin else self.value["high_water"])


def print_pools(lido, everything):
    pools = lido.pools()
    shown = [p for p in pools if everything or not p.anonymous]
    rows = [("pool", "block", "threads", "order", "way", "check", "live", "capacity", "most live", "held KiB", "slabs")]
    for p in shown:
        capacity = int(p.value["capacity"])
        rows.append((p.name, str(p.bytes), p.threads, p.order, p.way, p.check, str(p.live()), str(capacity) if capacity else "-",
                     str(p.high_water()), str(p.held_bytes() >> 10), str(int(p.slabs["slab_count"]))))
    if shown:
        table(rows, (1, 6, 7, 8, 9, 10))
    else:
        print("no pool is alive")
    if everything:
        return
    classes = [p for p in pools if p.is_class]
    others = [p for p in pools if p.anonymous and not p.is_class and int(p.value["heap"])]
    for title, group in (("malloc", classes), ("heaps", others)):
        if group:
            live = [p.live() for p in group]
            print(f"{title}: {len(group)} size class{'' if len(group) == 1 else 'es'} in use, "
                  f"{plural(sum(live), 'block')} of {sum(n * p.bytes for n, p in zip(live, group))} bytes live, "
                  f"{sum(p.held_bytes() for p in group) >> 10} KiB held ('lido pools -a' lists them)")


# --- stacks ---------------------------------------------------------------------------------------------------------

class Frame:
    """A return address of a kept stack, out of gdb's own tables: its calls in words, those that were inlined there first."""

    def __init__(self, pc):
        at = pc - 1    # the call, not what comes after it
        self.calls, self.function = [], ""    # whose code it is
        line = gdb.find_pc_line(at)
        place = self.place(line.symtab, line.line)
        try:
            block = gdb.block_for_pc(at)
        except RuntimeError:
            block = None
        while block is not None and not block.is_static:
            if block.function is not None:
                self.function = block.function.print_name
                self.calls.append(f"in {self.function}{place}")
                place = self.place(block.function.symtab, block.function.line)    # of an inlined one gdb says where it was called
            block = block.superblock
        if not self.calls:
            self.without_debug_information(at)

    @staticmethod
    def place(symtab, line):
        return f" ({symtab.filename}:{line})" if symtab is not None and line else ""

    def without_debug_information(self, at):
        near = gdb.execute(f"info symbol {at:#x}", to_string=True)
        if " in section" in near:
            self.function = near.split(" in section")[0].split(" + ")[0].strip()
        where = gdb.solib_name(at) or gdb.current_progspace().filename
        self.calls = [f"in {self.function} ({where})" if self.function else f"in {where}"]

    def lines(self, start):
        return [f"{start} {call} inlined" for call in self.calls[:-1]] + [f"{start} {self.calls[-1]}"]


def stack_of(lido, stack_id):
    """The addresses of an id: see src/trace/depot.c, which keeps them."""
    chunks = lido.variable("chunks", "src/trace/depot.c")
    if stack_id == 0 or stack_id // STACK_CHUNK_UNITS > chunks.type.range()[1]:
        return ()
    chunk = int(chunks[stack_id // STACK_CHUNK_UNITS])
    if chunk == 0:
        return ()
    at = chunk + stack_id % STACK_CHUNK_UNITS * STACK_UNIT
    _, _, count, own_id = struct.unpack("<4I", lido.memory.read(at, STACK_UNIT))
    if own_id != stack_id or count > STACK_DEPTH_MAX:
        return ()
    return struct.unpack(f"<{count}Q", lido.memory.read(at + STACK_UNIT, 8 * count))


def shown_frames(pcs):
    """Without the calls within lido at the top and what comes before main, as lido's own reports leave them out."""
    frames = [Frame(pc) for pc in pcs]
    mains = [i for i, frame in enumerate(frames) if frame.function == "main"]
    end = mains[0] + 1 if mains else len(frames)
    own = [i + 1 for i, frame in enumerate(frames[:min(end, OWN_FRAMES_MAX)]) if frame.function.startswith("lido__")]
    start = own[-1] if own and own[-1] < len(frames) else 0
    return zip(pcs[start:end], frames[start:end])


def print_stack(lido, stack_id):
    pcs = stack_of(lido, stack_id)
    for i, (pc, frame) in enumerate(shown_frames(pcs)):
        print("\n".join(frame.lines(f"    #{i} {pc:#x}")))
    if not pcs:
        print("    no stack was kept")


# --- checked blocks -------------------------------------------------------------------------------------------------

class Source:
    """Whose a checked block is. Its structure outlives what it was made for."""

    def __init__(self, lido, address):
        value = gdb.Value(address).cast(lido.type("lido__check_source").pointer()).dereference()
        self.kind, self.name = text_of(value["kind"]), text_of(value["name"])
        self.live, self.live_bytes = int(value["live"]), int(value["live_bytes"])
        self.ended, self.thread = bool(value["ended"]), int(value["thread"])

    def describe(self):
        return f"{self.kind} '{self.name}'" if self.kind else self.name


def print_checked(lido, zone, address):
    slots, slot_bytes = int(zone["slots"]), int(zone["slot_bytes"])
    index = 0 if address < slots or slot_bytes == 0 else min((address - slots) // slot_bytes, int(zone["slot_count"]) - 1)
    record = zone["records"][index]
    state, block, size = int(record["state"]) & 0x7F, int(record["block"]), int(record["bytes"])
    if state == RECORD_FREE:
        print(f"{address:#x}: in memory for checked blocks, where no block is")
        return
    if address < block:
        where = f"{plural(block - address, 'byte')} before"
    elif address >= block + size and address != block:
        where = f"{plural(address - block - size, 'byte')} behind"
    else:
        where = "the start of" if address == block else f"{plural(address - block, 'byte')} into"
    source = Source(lido, int(record["source"]))
    print(f"{address:#x}: {where} a checked block of {plural(size, 'byte')} at {block:#x}, of {source.describe()}"
          + (", which has ended" if source.ended else ""))
    slot = slots + index * slot_bytes
    front = block - slot < slot + int(zone["data_bytes"]) - (block + size)    # the option check_edge
    level = ("starts" if front else "ends") + " at an inaccessible page" if bool(zone["paged"]) else "guarded by patterns"
    words = {RECORD_LIVE: "live: the program has it", RECORD_BUSY: "a call is changing it at this moment",
             RECORD_RESTING: "freed: it rests, " + ("out of reach" if bool(zone["paged"]) else "filled with 0xdd")}
    print(f"  {words[state]}; {level}")
    if state == RECORD_RESTING:
        print(f"  freed in thread {int(record['ended_thread'])}{lido.ago(int(record['ended_ms']))}"
              + (f", {ENDS[int(record['end'])]}" if int(record["end"]) else "") + ":")
        print_stack(lido, int(record["ended_stack"]))
    print(f"  allocated in thread {int(record['made_thread'])}{lido.ago(int(record['made_ms']))}, "
          f"by {CALLS[int(record['call'])]}, as number {int(record['number'])}:")
    print_stack(lido, int(record["made_stack"]))
    if source.thread:
        print(f"  {source.describe()} is confined to thread {source.thread}")


def live_groups(lido):
    """Live checked blocks: {(source, stack): [count, bytes, oldest stamp]}."""
    groups, layout = {}, Layout(lido.type("lido__checked"))
    records_at = offset_of(lido.type("lido__zone"), "records")
    for zone in lido.zones():
        data = lido.memory.read(int(zone.address) + records_at, int(zone["slot_count"]) * layout.bytes)
        for base in range(0, len(data), layout.bytes):
            if layout.get(data, base, "state") & 0x7F != RECORD_LIVE:
                continue
            key = layout.get(data, base, "source"), layout.get(data, base, "made_stack")
            group = groups.setdefault(key, [0, 0, 0xFFFFFFFF])
            group[0] += 1
            group[1] += layout.get(data, base, "bytes")
            group[2] = min(group[2], layout.get(data, base, "made_ms"))
    return groups


def print_leaks(lido, everything):
    groups = sorted(live_groups(lido).items(), key=lambda item: (-item[1][1], item[0]))
    if not groups:
        print("no checked block is alive (blocks are checked with LIDO_OPTIONS=\"check=guard\" or page)")
        return
    most = len(groups) if everything else 20
    for (source, stack), (count, size, oldest) in groups[:most]:
        age = lido.ago(oldest).replace(", ", ", the oldest made ")
        print(f"{plural(count, 'block')}, {plural(size, 'byte')}, of {Source(lido, source).describe()}{age}, allocated at")
        print_stack(lido, stack)
    if len(groups) > most:
        print(f"... and {plural(len(groups) - most, 'smaller group')} ('lido leaks -a' lists all)")
    print(f"alive in all: {plural(sum(g[0] for _, g in groups), 'block')}, {plural(sum(g[1] for _, g in groups), 'byte')}, "
          f"from {plural(len(groups), 'place')}")


# --- what an address is ---------------------------------------------------------------------------------------------

def owner_words(heap):
    return f", of heap '{text_of(heap.cast(gdb.lookup_type('lido_heap').pointer())['name'])}'" if int(heap) else ""


def print_slab_block(lido, segment, index, slab, address):
    if int(slab["set"]) == 0:
        print(f"{address:#x}: in a slab that is being made or given back")
        return
    pool_type = lido.type("lido_pool")
    at = int(slab["set"]) - offset_of(pool_type, "slabs")
    pool = Pool(lido, gdb.Value(at).cast(pool_type.pointer()).dereference())
    memory = int(segment.address) + index * SLICE_BYTES
    number = (address - memory) // pool.bytes
    if number >= int(pool.slabs["blocks_per_slab"]):
        print(f"{address:#x}: behind the last block of a slab of {pool.describe()}; no block is there")
        return
    block = memory + number * pool.bytes
    where = "the start of" if address == block else f"{plural(address - block, 'byte')} into"
    print(f"{address:#x}: {where} block {number} of a slab of {pool.describe()}, {plural(pool.bytes, 'byte')} at {block:#x}")
    word = int(segment["bitmaps"][index][number // 64])
    if number >= int(slab["fresh"]):
        print("  free: never handed out")
    elif word >> number % 64 & 1:
        print("  free: in the slab")
    else:
        free = pool.where_free(block)
        idle = idle_words(pool, block) if free is None else None
        print(f"  free: {free}" if free else f"  live: {idle or 'the program has it'}")
    if bool(pool.value["watched"]) and int(segment["states"]) > 1:
        state = int(segment["states"][(block - int(segment.address)) // 16]) >> 4  # see src/slab/state.h
        print(f"  watched (check={pool.check}): {STATES[state] if state < len(STATES) else state}")
    print(f"  pool at {pool.address:#x}: {pool.threads}, {pool.order}, way {pool.way}; slab at {memory:#x}: "
          f"{plural(int(slab['slice_count']), 'slice')}, {int(slab['fresh'])} of {int(pool.slabs['blocks_per_slab'])} blocks "
          f"were handed out, {int(slab['free_count'])} of them are back")


def idle_words(pool, block):
    """Of a block of an object pool, if a constructed object waits in it."""
    if int(pool.value["objects"]) == 0:
        return None
    objects = pool.value["objects"].dereference()
    for i in range(int(objects["stripe_mask"]) + 1):
        stripe = objects["stripes"][i]
        count = int(stripe["count"])
        if count and block in struct.unpack(f"<{count}Q", pool.lido.memory.read(int(stripe["objects"]), count * 8)):
            return "an idle object, constructed and waiting in its object pool"
    return None


def print_large(lido, address, start, size, heap, what):
    where = "the start of" if address == start else f"{plural(address - start, 'byte')} into"
    print(f"{address:#x}: {where} a {what} object of {size} bytes at {start:#x}{owner_words(heap)}\n  live: the program has it")


def find_in_segment(lido, segment, address):
    index, slab = lido.slab(segment, address)
    kind, start = int(slab["kind"]), int(segment.address) + index * SLICE_BYTES
    size = int(slab["slice_count"]) * SLICE_BYTES
    if lido.entry(address) == 0:
        header = address - int(segment.address) < 5 * SLICE_BYTES
        print(f"{address:#x}: in " + ("the header of a segment, lido's own" if header else
                                      "a free slice: no block is here now") + f" (segment at {int(segment.address):#x})")
    elif kind == RUN_SLAB:
        print_slab_block(lido, segment, index, slab, address)
    elif kind == RUN_LARGE:
        print_large(lido, address, start, size, slab["large_heap"], "large")
    elif kind == RUN_BUMP:
        print(f"{address:#x}: in a chunk of {size} bytes at {start:#x}{owner_words(slab['large_heap'])}, which bumps: its blocks "
              "are not told apart")
    elif kind == RUN_CHECK:
        print_checked(lido, slab["large_heap"].cast(lido.type("lido__zone").pointer()).dereference(), address)
    else:
        print(f"{address:#x}: memory that lido uses for itself, {size} bytes at {start:#x}")


def find_outside(lido, address):
    """Huge objects and checked blocks that have mappings of their own. False: neither."""
    count = int(lido.variable("table_size", "src/slab/mapping.c"))
    first = lido.variable("table", "src/slab/mapping.c")
    layout = Layout(first.type.target())
    data = lido.memory.read(int(first), count * layout.bytes) if count else b""
    for base in range(0, len(data), layout.bytes):
        start, size = layout.get(data, base, "start"), layout.get(data, base, "bytes")
        if start and start <= address < start + size:
            print_large(lido, address, start, size, first[base // layout.bytes]["owner"], "huge")
            return True
    for zone in lido.zones():
        if bool(zone["mapped"]) and 0 <= address - int(zone["memory"]) < int(zone["memory_bytes"]):
            print_checked(lido, zone, address)
            return True
    cache = lido.variable("cache", "src/slab/mapping.c")
    for i in range(cache.type.range()[1] + 1):
        start, size = int(cache[i]["start"]), int(cache[i]["bytes"])
        if start and start <= address < start + size:
            print(f"{address:#x}: in a huge object of {size} bytes at {start:#x} that was freed; its memory is kept for the next")
            return True
    return False


def find_block(address):
    for lido in lidos():
        segment = lido.segment(address)
        if segment is not None:
            find_in_segment(lido, segment, address)
            return
        if find_outside(lido, address):
            return
    near = gdb.execute(f"info symbol {address:#x}", to_string=True).strip()
    hint = f": {near}" if " in section" in near else ""
    print(f"{address:#x}: not memory of lido{hint}")


# --- totals ---------------------------------------------------------------------------------------------------------

def print_heap(lido):
    segments = lido.variable("totals", "src/slab/segment.c")
    huge = lido.variable("totals", "src/slab/mapping.c")
    pools = lido.pools()
    rows = [("", "count", "KiB", "")]

    def row(name, count, size, note):
        rows.append((name, str(count) if count is not None else "", str(size >> 10), note))

    row("segments", int(segments["segments"]), int(segments["reserved_bytes"]), "address space")
    row("  committed", None, int(segments["committed_bytes"]), "usable")
    row("  in use", None, int(segments["used_bytes"]), "slabs, large objects, lido's own")
    row("  free, kept", None, int(segments["dirty_free_bytes"]), "given back after purge_delay_ms")
    row("pools", len(pools), sum(p.held_bytes() for p in pools), "in their slabs, size classes among them")
    row("  live blocks", sum(p.live() for p in pools), sum(p.live() * p.bytes for p in pools), "that the program has")
    row("huge objects", int(huge["count"]), int(huge["bytes"]), "mappings of their own")
    row("  freed, kept", None, int(huge["cached_bytes"]), "for the next")
    sources = [Source(lido, int(s.address)) for s in lido.sources()]
    row("checked blocks", sum(s.live for s in sources), sum(s.live_bytes for s in sources), "alive, in check mode guard or page")
    row("threads", len(lido.threads()), int(lido.variable("structure_count", "src/pool/thread.c")) * SLICE_BYTES, "their bins")
    table(rows, (1, 2))


def print_threads(lido):
    threads, pools = lido.threads(), {p.bin: p for p in lido.pools() if p.bin}
    if not threads:
        print("no thread has bins")
    for thread in threads:
        rows = []
        for entry, pool in sorted(pools.items()):
            bin_, back = thread["bins"][entry // BIN_BYTES], thread["backs"][entry // BIN_BYTES]
            batch = int(back["batch"])
            if batch == 0:
                continue
            head = batch - int(bin_["room"]) if int(bin_["head"]) else 0
            spare = int(back["spare_count"]) if int(back["spare"]) else 0
            rows.append((f"  {pool.describe()}", str(pool.bytes), str(head), str(spare), str(batch), str((head + spare) * pool.bytes)))
        total = sum(int(row[5]) for row in rows)
        name = lido.thread_name(thread)
        print(f"{name[0].upper()}{name[1:]}: {plural(len(rows), 'bin')}, {total} bytes of free blocks")
        if rows:
            table([("  pool", "block", "in bin", "spare", "batch", "bytes")] + rows, (1, 2, 3, 4, 5))


# --- the commands ---------------------------------------------------------------------------------------------------

class Lidos(gdb.Command):
    """What lido knows: 'lido pools', 'lido block ADDRESS', 'lido heap', 'lido leaks', 'lido threads'."""

    def __init__(self):
        super().__init__("lido", gdb.COMMAND_DATA, prefix=True)

    def invoke(self, words, from_tty):
        raise gdb.GdbError("lido: pools, block ADDRESS, heap, leaks or threads?")


class Command(gdb.Command):
    """One word behind `lido`, which `act` answers for each lido of the process."""

    def __init__(self, word, act, takes_all, help_):
        self.__doc__ = help_
        super().__init__(f"lido {word}", gdb.COMMAND_DATA)
        self.word, self.act, self.takes_all = word, act, takes_all

    def invoke(self, words, from_tty):
        everything = self.takes_all and words.strip() == "-a"
        if words.strip() and not everything:
            raise gdb.GdbError(f"lido {self.word}: '{words.strip()}' is not understood" + ("; -a lists all" if self.takes_all else ""))
        found = lidos()
        try:
            for lido in found:
                if len(found) > 1:
                    print(f"{lido.name}:")
                self.act(lido, everything) if self.takes_all else self.act(lido)
        except gdb.error as error:
            raise gdb.GdbError(f"lido {self.word}: {error}; the program may be in the middle of a call, or the core incomplete") from None


class BlockCommand(gdb.Command):
    """lido block ADDRESS: which pool, slab and block an address lies in, live or free, and where a free block is.
In check mode guard and page also who allocated it and who freed it."""

    def __init__(self):
        super().__init__("lido block", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, words, from_tty):
        if not words.strip():
            raise gdb.GdbError("lido block: which address? lido block ADDRESS, also an expression like 'conn->next'")
        try:
            find_block(int(gdb.parse_and_eval(words)) & (1 << 64) - 1)
        except gdb.error as error:
            raise gdb.GdbError(f"lido block: {error}") from None


Lidos()
BlockCommand()
Command("pools", print_pools, True, "lido pools [-a]: every pool and what it holds; with -a also the size classes of malloc and heaps.")
Command("heap", print_heap, False, "lido heap: segments, pools, huge objects and threads in figures.")
Command("leaks", print_leaks, True, "lido leaks [-a]: live checked blocks by pool and place of allocation, the most bytes first.")
Command("threads", print_threads, False, "lido threads: the free blocks that each thread keeps.")


def answer(descriptor, words):
    """For `lido core`, which has joined this call to the script: writes 'k' and the answer, or 'e' and what went wrong."""
    try:
        text = "k" + gdb.execute(f"lido {words}", to_string=True)
    except gdb.error as error:
        text = f"e{error}"
    with open(descriptor, "w", errors="replace") as out:
        out.write(text)

-- SPDX-License-Identifier: MIT
-- Copyright (c) 2026 the lido authors
--
-- script/demo: binary trees, tables that grow and shrink, strings and closures. Lua asks malloc for every object, so this is
-- the program closest to the allocator. Usage: work.lua SCALE. Prints checksums only.
local scale = tonumber(arg[1])

local seed = 12345
local function random(bound)
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  return (seed >> 8) % bound
end

local function tree(depth)
  if depth == 0 then return {} end
  return { tree(depth - 1), tree(depth - 1) }
end

local function count(node)
  if not node[1] then return 1 end
  return 1 + count(node[1]) + count(node[2])
end

-- Short-lived trees beside one that stays.
local function trees(rounds)
  local keep, sum = tree(16), 0
  for i = 1, rounds do sum = sum + count(tree(4 + i % 8)) end
  return sum + count(keep)
end

-- A window of live strings of 1 to 800 bytes; each step drops one and makes one.
local function strings(steps)
  local window, bytes = {}, 0
  for i = 1, steps do
    local text = string.rep(string.char(97 + i % 26), random(40) + 1, tostring(i))
    window[random(20000) + 1] = text
    bytes = bytes + #text
  end
  local parts = {}
  for i = 1, 20000 do parts[#parts + 1] = window[i] and window[i]:sub(1, 12) or "-" end
  return bytes, #table.concat(parts, ",")
end

-- Tables that grow one key at a time, array part and hash part, and closures that hold them.
local function tables(rounds)
  local holders, sum = {}, 0
  for i = 1, rounds do
    local t = {}
    for k = 1, random(60) do t[k] = k; t["k" .. k % 16] = i end
    holders[i % 5000 + 1] = function() return #t end
  end
  for _, size in pairs(holders) do sum = sum + size() end
  return sum
end

print("trees", trees(math.floor(900 * scale)))
print("strings", strings(math.floor(250000 * scale)))
print("tables", tables(math.floor(20000 * scale)))

// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// node under test: Buffers that are freed by the collector, zlib and crypto in the thread pool, worker threads, child processes.
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { execFileSync } = require('node:child_process');
const { promisify } = require('node:util');
const crypto = require('node:crypto');
const zlib = require('node:zlib');

const hash = (data) => crypto.createHash('sha256').update(data).digest('hex').slice(0, 16);

function churn(steps, seed) {
  const window = new Array(500).fill(null);
  let x = seed;
  let bytes = 0;
  for (let i = 0; i < steps; i++) {
    x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
    const buffer = Buffer.alloc((x >> 8) % 20000 + 1, i & 255);
    window[(x >> 4) % 500] = buffer;
    bytes += buffer.length;
  }
  return [bytes, hash(Buffer.concat(window.filter(Boolean)))];
}

async function main() {
  console.log('churn', ...churn(6000, 1));
  const text = Buffer.from(JSON.stringify([...Array(20000).keys()].map((n) => ({ n, name: `name ${n % 97}` }))));
  const packed = await Promise.all([1, 4, 6, 9].map((level) => promisify(zlib.deflate)(text, { level })));
  const back = await Promise.all(packed.map((data) => promisify(zlib.inflate)(data)));
  console.log('zlib', packed.map((data) => data.length), back.every((data) => data.equals(text)));
  const brotli = await promisify(zlib.brotliCompress)(text, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } });
  console.log('brotli', brotli.length, zlib.brotliDecompressSync(brotli).equals(text));
  const derive = promisify(crypto.pbkdf2);
  const keys = await Promise.all([...Array(6).keys()].map((n) => derive('secret', `salt${n}`, 2000, 64, 'sha512')));
  console.log('pbkdf2', keys.map(hash).join(' '));
  const answers = await Promise.all([2, 3, 4].map((seed) => new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: seed });
    worker.on('message', resolve).on('error', reject);
  })));
  console.log('workers', answers.map(String).join(' '));
  const child = execFileSync(process.execPath, ['-e', 'console.log(Buffer.alloc(1e6, 7).length)']);
  console.log('child', child.toString().trim());
  const map = new Map([...Array(30000).keys()].map((n) => [`key${n}`, { n, list: new Array(n % 20).fill(n) }]));
  for (const key of [...map.keys()].filter((_, n) => n % 3)) map.delete(key);
  console.log('map', map.size, hash(JSON.stringify([...map])), text.toString('base64').length);
  console.log('regexp', text.toString().match(/name (1\d|7)/g).length, structuredClone([...map]).length);
}

if (isMainThread) main();
else parentPort.postMessage(churn(2000, workerData));

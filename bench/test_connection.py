# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""The HTTP server of bench/programs answers, counts what it allocates, and ends with status 0. Usage: test_connection.py BUILD"""

import http.client
import itertools
import pathlib
import signal
import socket
import subprocess
import sys
import unittest

SERVER = pathlib.Path(sys.argv.pop(1)) / "bin/lido-bench-connection"
REQUESTS = 5


class Server:
    def __init__(self, *words):
        self.process = subprocess.Popen([SERVER, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().removeprefix("port="))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, dict(line.split("=") for line in out.split()), err


class Connection(unittest.TestCase):
    def requests(self, port, again):
        """Over one connection, or over `again` ones where the server closes."""
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        for _ in range(REQUESTS):
            client.request("GET", "/")
            answer = client.getresponse()
            self.assertEqual((200, b"Hello, world\n", again), (answer.status, answer.read(), answer.will_close))
        client.close()

    def test_every_way(self):
        for pool, (way, objects) in itertools.product((0, 1), (("", 1), ("lazy=1", REQUESTS), ("close=1", REQUESTS))):
            with self.subTest(pool=pool, way=way):
                server = Server(f"pool={pool}", "threads=2", *way.split())
                self.requests(server.port, way == "close=1")
                status, counts, err = server.end()
                self.assertEqual((0, "", str(REQUESTS)), (status, err, counts["requests"]))
                # A lazy connection may have one more, to see that the client is gone.
                self.assertIn(int(counts["objects"]), (objects, objects + 1) if way == "lazy=1" else (objects,))

    def test_a_request_in_pieces_and_two_at_once(self):
        for pool in ("pool=0", "pool=1"):
            server = Server(pool, "lazy=1")
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
                for piece in (b"GET / HTTP/1.1\r\nHo", b"st: x\r\n\r\nGET / HTTP/1.1\r\n\r\n"):
                    client.sendall(piece)
                got = b""
                while got.count(b"Hello, world\n") < 2:
                    piece = client.recv(4096)
                    self.assertTrue(piece)
                    got += piece
                client.sendall(b"x" * 2000)  # no request of 1,024 bytes: the server hangs up
                self.assertTrue(self.hung_up(client))
            status, counts, err = server.end()
            self.assertEqual((0, "", "2"), (status, err, counts["requests"]))

    def hung_up(self, client):
        try:
            return client.recv(1) == b""
        except ConnectionResetError:
            return True

    def test_wrong_words(self):
        for word in ("port", "port=70000", "pool=2", "threads=0", "lazy=x", "colour=1"):
            done = subprocess.run([SERVER, word], text=True, capture_output=True, timeout=20)
            self.assertEqual(2, done.returncode)
            self.assertRegex(done.stderr, rf"^lido-bench-connection: '{word}' is not one of port=N .*\n$")


if __name__ == "__main__":
    unittest.main()

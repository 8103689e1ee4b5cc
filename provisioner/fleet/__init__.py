"""The fleet simulator: thousands of machines and agents in one process, for tests and benchmarks of the control plane.

`simulator.py` is the world, `server.py` offers it on a unix socket, `client.py` is how a worker reaches it. A whole
installation uses it when RINGMASTER_TEST_FLEET names the socket.
"""

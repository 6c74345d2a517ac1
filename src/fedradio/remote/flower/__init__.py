"""Federations of real devices: letters, devices, the server's side, keys, and the transport, which is Flower's."""

"""Folding: turning messages into items of memory."""

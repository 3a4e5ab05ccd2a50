"""The service: HTTP API, proxy and workers around a Memory."""

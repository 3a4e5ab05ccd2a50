"""The service: infold over HTTP."""

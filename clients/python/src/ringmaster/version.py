"""The version of this package, told to the server as the user agent."""

__version__ = "0.1.0"

"""Figures as operations and plans say them."""


def size_of(count: float) -> str:
    """Bytes, in MiB or GiB."""
    return f"{count / (1 << 30):,.2f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):,.1f} MiB"

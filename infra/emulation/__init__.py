"""A database machine without a cloud: a Debian image of our own making, baked by Packer and booted under QEMU."""

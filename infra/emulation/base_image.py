"""A Debian cloud image made of Debian's packages alone, for machines that cannot download Debian's own.

It has what that one has and our bake and first boot lean on: the cloud kernel, GRUB, cloud-init, netplan over
systemd-networkd and an SSH server. Nobody can log in before cloud-init has put a key there. Boots from a BIOS.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

SUITE = "bookworm"
PACKAGES = (
    *("systemd-sysv", "systemd-resolved", "udev", "dbus", "kmod", "iproute2", "fdisk", "initramfs-tools", "zstd"),
    *("linux-image-cloud-amd64", "grub-cloud-amd64", "cloud-init", "cloud-guest-utils", "netplan.io"),
    *("openssh-server", "sudo", "ca-certificates"),
)
_MIB = 1 << 20
_DISK_MIB = 4096
_FIRST_MIB = 1  # the boot loader is before the first partition
_LABEL = "root"
_GRUB = "/boot/grub"
# One kind of host key and no locale to generate: both take long under emulation, and nobody here looks at them.
_CLOUD_INIT = "locale: C.UTF-8\nssh_genkeytypes: [ed25519]\n"
_LINE = f"root=LABEL={_LABEL} ro console=tty0 console=ttyS0,115200"


def make(target: Path, *, sources: Path) -> None:
    """Write the image, a qcow2 of 4 GiB, to `target`. Takes minutes, needs root.

    `sources` says where apt finds Debian, as a file of /etc/apt/sources.list.d does; the image keeps it. Raises
    CalledProcessError with the programs' output in `stdout`.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="base-") as name:
        folder = Path(name)
        root, core, disk = folder / "root", folder / "core.img", folder / "disk"
        command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
        _run([*command, SUITE, str(root), str(sources)])
        _settle(root)
        _make_grub(root, core)
        _write_disk(root, core, disk)
        unfinished = folder / "image.qcow2"
        _run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", str(disk), str(unfinished)])
        unfinished.replace(target)


def _settle(root: Path) -> None:
    """What Debian's image builder configures and packages do not."""
    (root / "etc/fstab").write_text(f"LABEL={_LABEL} / ext4 rw,discard,errors=remount-ro 0 1\n")
    (root / "etc/hostname").write_text("debian\n")
    (root / "etc/machine-id").write_text("")
    (root / "etc/cloud/cloud.cfg.d/90-image.cfg").write_text(_CLOUD_INIT)
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    shutil.rmtree(root / "var/lib/apt/lists", ignore_errors=True)
    _run(["chroot", str(root), "systemctl", "enable", "systemd-networkd.service", "systemd-resolved.service"])
    resolver = root / "etc/resolv.conf"
    resolver.unlink(missing_ok=True)
    resolver.symlink_to("../run/systemd/resolve/stub-resolv.conf")


def _make_grub(root: Path, core: Path) -> None:
    """GRUB's modules, its first configuration (the bake makes a better one), and the image that is before the disk's
    first partition."""
    modules = root / "usr/lib/grub/i386-pc"
    shutil.copytree(modules, root / _GRUB[1:] / "i386-pc", dirs_exist_ok=True)
    kernel, initrd = (sorted((root / "boot").glob(pattern))[-1].name for pattern in ("vmlinuz-*", "initrd.img-*"))
    (root / _GRUB[1:] / "grub.cfg").write_text(
        f"search --no-floppy --label {_LABEL} --set root\nlinux /boot/{kernel} {_LINE}\ninitrd /boot/{initrd}\nboot\n"
    )
    inside = f"/tmp/{core.name}"
    form = ["--format=i386-pc", f"--prefix=(hd0,msdos1){_GRUB}", f"--output={inside}"]
    _run(["chroot", str(root), "grub-mkimage", *form, "biosdisk", "part_msdos", "ext2"])
    shutil.move(root / inside[1:], core)


def _write_disk(root: Path, core: Path, disk: Path) -> None:
    """A partition table, the boot loader as `grub-install` lays it out, and the file system; no loop devices."""
    boot = (root / "usr/lib/grub/i386-pc/boot.img").read_bytes()
    with disk.open("wb") as file:
        file.truncate(_DISK_MIB * _MIB)
    _run(["sfdisk", "--quiet", str(disk)], words=f"label: dos\nstart={_FIRST_MIB}MiB, type=83, bootable\n")
    with disk.open("r+b") as file:
        file.write(boot[:440])  # behind it are the disk's signature and the partition table
        file.seek(512)
        file.write(core.read_bytes())
        if file.tell() > _FIRST_MIB * _MIB:
            raise RuntimeError(f"the boot loader of {file.tell()} bytes does not fit before the first partition")
    size = f"{(_DISK_MIB - _FIRST_MIB) * 1024}K"
    options = ["-q", "-F", "-L", _LABEL, "-d", str(root), "-E", f"offset={_FIRST_MIB * _MIB}"]
    _run(["mke2fs", "-t", "ext4", *options, str(disk), size])


def _run(command: list[str], words: str | None = None) -> None:
    subprocess.run(command, check=True, text=True, input=words or "", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

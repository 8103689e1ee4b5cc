"""Which code belongs to which kind of operation. The only place that knows all kinds."""

from provisioner.operations.base import OperationCode

_CODES: dict[str, OperationCode] = {}


def register(code: OperationCode) -> None:
    """Make a kind known to this process. ValueError when another code already answers to its name."""
    known = _CODES.setdefault(code.kind, code)
    if known is not code:
        raise ValueError(f"the kind {code.kind} is registered twice")


def find(kind: str) -> OperationCode | None:
    """The code of a kind; None when this release does not know it (a newer one planned it)."""
    return _CODES.get(kind)


def register_all() -> None:
    """Make every kind of this release known. Workers call it once; the runner's own tests need none of them."""
    from provisioner.operations import (
        add_datacenter,
        apply_advice,
        apply_settings,
        backup,
        change_access,
        change_machine_type,
        check_backup_location,
        check_cloud_account,
        clone_cluster,
        copy_backup,
        create_cluster,
        delete_cluster,
        diagnose,
        import_tables,
        list_backup_location,
        measure_disks,
        network_connections,
        purge_backups,
        remove_datacenter,
        repair,
        replace_node,
        restart_nodes,
        restore,
        restore_drill,
        rotate_certificates,
        rotate_credentials,
        run_command,
        scale_cluster,
        start_node,
        stop_node,
        take_over,
        upgrade_cluster,
        verify_backup,
    )

    for code in (
        add_datacenter.CODE,
        apply_advice.CODE,
        apply_settings.CODE,
        backup.CODE,
        change_access.CHANGE_ACCESS,
        change_access.CHANGE_ALLOWLIST,
        change_access.READ_ACCESS,
        change_machine_type.CODE,
        check_backup_location.CODE,
        copy_backup.CODE,
        check_cloud_account.CODE,
        clone_cluster.CODE,
        create_cluster.CODE,
        delete_cluster.CODE,
        diagnose.CODE,
        import_tables.CHECK,
        import_tables.CODE,
        measure_disks.CODE,
        network_connections.CREATE,
        network_connections.DELETE,
        list_backup_location.CODE,
        purge_backups.CODE,
        remove_datacenter.CODE,
        repair.CODE,
        replace_node.CODE,
        restart_nodes.RESTART_NODE,
        restart_nodes.ROLLING_RESTART,
        restore.CODE,
        restore_drill.CODE,
        rotate_certificates.CODE,
        rotate_credentials.CODE,
        run_command.CODE,
        scale_cluster.CODE,
        start_node.CODE,
        stop_node.CODE,
        take_over.CODE,
        upgrade_cluster.CODE,
        verify_backup.CODE,
    ):
        register(code)

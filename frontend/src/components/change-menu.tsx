import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import { useState } from "react";
import type { Cluster, ClusterChange } from "../api";
import { ChangeModal } from "../forms/change-modal";
import { ClusterAddDatacenterModal } from "../forms/cluster-add-datacenter";
import { ClusterDeleteModal } from "../forms/cluster-delete";
import { ClusterMachineTypeModal } from "../forms/cluster-machine-type";
import { ClusterScaleModal } from "../forms/cluster-scale";
import { ClusterUpgradeModal } from "../forms/cluster-upgrade";
import { TestDriveExtendModal, TestDriveKeepModal } from "../forms/test-drive";
import { reasonAgainst } from "../util/allowed";

/** Everything that can be done to a cluster. The plan in each dialog says what would happen, or why it cannot. */
export function ChangeMenu({ cluster }: { cluster: Cluster }) {
  const [open, setOpen] = useState<string | null>(null);
  const change = reasonAgainst("change_cluster", cluster.allowed_actions);
  const remove = reasonAgainst("delete_cluster", cluster.allowed_actions);
  const item = (id: string, text: string) => ({
    id,
    text,
    disabled: change !== undefined,
    disabledReason: change,
  });
  const second = cluster.datacenters.slice(1);
  return (
    <>
      <ButtonDropdown
        expandToViewport
        items={[
          item("scale", "Scale …"),
          item("machine_type", "Change machine type …"),
          item("upgrade", "Upgrade …"),
          item("rolling_restart", "Rolling restart …"),
          item("rotate_certificates", "Rotate certificates …"),
          item("add_datacenter", "Add data centre …"),
          ...second.map(({ name }) => item(`remove_datacenter ${name}`, `Remove data centre ${name} …`)),
          ...(cluster.expires_at === null ? [] : testDriveItems(cluster)),
          { id: "delete", text: "Delete cluster …", disabled: remove !== undefined, disabledReason: remove },
        ]}
        onItemClick={({ detail }) => setOpen(detail.id)}
      >
        Change
      </ButtonDropdown>
      {open !== null && <OpenChange cluster={cluster} what={open} onDismiss={() => setOpen(null)} />}
    </>
  );
}

function OpenChange({ cluster, what, onDismiss }: { cluster: Cluster; what: string; onDismiss: () => void }) {
  const props = { cluster, onDismiss };
  const [kind, name = ""] = what.split(" ");
  switch (kind) {
    case "scale":
      return <ClusterScaleModal {...props} />;
    case "machine_type":
      return <ClusterMachineTypeModal {...props} />;
    case "upgrade":
      return <ClusterUpgradeModal {...props} />;
    case "add_datacenter":
      return <ClusterAddDatacenterModal {...props} />;
    case "extend_test_drive":
      return <TestDriveExtendModal {...props} />;
    case "keep_test_drive":
      return <TestDriveKeepModal {...props} />;
    case "delete":
      return <ClusterDeleteModal {...props} />;
    case "rolling_restart":
      return (
        <ChangeModal
          {...props}
          title={`Restart all nodes of ${cluster.name}`}
          confirm="Restart"
          change={ROLLING_RESTART}
        />
      );
    case "rotate_certificates":
      return (
        <ChangeModal
          {...props}
          title={`Rotate the certificates of ${cluster.name}`}
          confirm="Rotate"
          change={ROTATE_CERTIFICATES}
        />
      );
    case "remove_datacenter":
      return (
        <ChangeModal
          {...props}
          title={`Remove the data centre ${name}`}
          confirm="Remove data centre"
          change={{ kind: "remove_datacenter", datacenter: name }}
        />
      );
  }
  return null;
}

function testDriveItems(cluster: Cluster) {
  const item = (id: string, text: string) => {
    const reason = reasonAgainst(id, cluster.allowed_actions);
    return { id, text, disabled: reason !== undefined, disabledReason: reason };
  };
  return [item("extend_test_drive", "Extend test drive …"), item("keep_test_drive", "Keep cluster …")];
}

const ROLLING_RESTART: ClusterChange = { kind: "rolling_restart" };
const ROTATE_CERTIFICATES: ClusterChange = { kind: "rotate_certificates" };

import ButtonDropdown from "@cloudscape-design/components/button-dropdown";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import type { Cluster, Node } from "../api";
import { ChangeModal } from "../forms/change-modal";

const ACTIONS = [
  { id: "restart_node", text: "Restart", title: "Restart" },
  { id: "stop_node", text: "Stop", title: "Stop" },
  { id: "start_node", text: "Start", title: "Start" },
  { id: "measure_disks", text: "Measure disks", title: "Measure the disks of" },
  { id: "replace_node", text: "Replace", title: "Replace" },
] as const;
type NodeAction = (typeof ACTIONS)[number]["id"];

/** What can be done to one node; where something cannot, it says why. */
export function NodeMenu({ cluster, node }: { cluster: Cluster; node: Node }) {
  const [open, setOpen] = useState<NodeAction | null>(null);
  const router = useRouter();
  const ask = () =>
    router.navigate({
      to: "/clusters/$clusterId",
      params: { clusterId: cluster.id },
      search: { tab: "diagnostics", node: node.id },
    });
  const action = ACTIONS.find(({ id }) => id === open);
  return (
    <>
      <ButtonDropdown
        variant="inline-icon"
        expandToViewport
        ariaLabel={`Actions for ${node.name}`}
        items={[
          ...ACTIONS.map(({ id, text }) => {
            const rule = node.allowed_actions.find((each) => each.action === id);
            return {
              id,
              text: `${text} …`,
              disabled: !rule?.allowed,
              disabledReason: rule?.allowed ? undefined : (rule?.reason ?? "This is not possible now."),
            };
          }),
          { id: "ask", text: "Ask, or run a command" },
        ]}
        onItemClick={({ detail }) => (detail.id === "ask" ? void ask() : setOpen(detail.id as NodeAction))}
      />
      {action && (
        <ChangeModal
          cluster={cluster}
          title={`${action.title} ${node.name}`}
          confirm={action.text}
          change={{ kind: action.id, node_id: node.id }}
          onDismiss={() => setOpen(null)}
        />
      )}
    </>
  );
}

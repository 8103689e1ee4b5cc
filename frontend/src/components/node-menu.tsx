import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import type { Cluster, Node } from "../api";
import { ChangeModal } from "../forms/change-modal";
import { reasonAgainst } from "../util/allowed";
import { RowMenu } from "./row-menu";

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
      <RowMenu<NodeAction | "ask">
        name={node.name}
        items={[
          ...ACTIONS.map(({ id, text }) => ({
            id,
            text: `${text} …`,
            reason: reasonAgainst(id, node.allowed_actions),
          })),
          { id: "ask", text: "Ask, or run a command" },
        ]}
        onAction={(id) => (id === "ask" ? void ask() : setOpen(id))}
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

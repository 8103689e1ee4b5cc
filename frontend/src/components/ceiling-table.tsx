import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { TableProps } from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { type Ceiling, type CeilingPage, ceilingsQuery, refresh, removeCeilingMutation, useMay } from "../api";
import { CeilingModal } from "../forms/ceiling";
import { toast } from "../hooks/use-toasts";
import { CursorTable } from "../table/cursor-table";
import { formatDollars } from "../util/money";
import { lastCursor } from "../util/search";
import { count } from "../util/size";
import { ConfirmModal } from "./confirm-modal";
import { RowButton } from "./row-button";

type Open = { what: "create" } | { what: "edit" | "remove"; ceiling: Ceiling };

/** The most that the organisation and its clusters may have, beside what they have. */
export function CeilingTable({
  cursors,
  onCursors,
}: {
  cursors: string[] | undefined;
  onCursors: (cursors: string[] | undefined) => void;
}) {
  const ceilings = useQuery(ceilingsQuery(lastCursor(cursors)));
  const [open, setOpen] = useState<Open | null>(null);
  const may = useMay("budgets:write");
  const close = () => setOpen(null);
  return (
    <>
      <CursorTable
        noun="ceilings"
        variant="container"
        page={ceilings}
        cursors={cursors}
        onCursors={onCursors}
        columns={columns(setOpen)}
        header={
          <Header
            variant="h2"
            description="Orders and changes that go beyond one are refused. Nothing is taken away, and dead nodes are replaced all the same."
            actions={
              <Button
                disabled={!may}
                disabledReason={may ? undefined : "Your role may not change ceilings."}
                onClick={() => setOpen({ what: "create" })}
              >
                Set a ceiling
              </Button>
            }
          >
            Ceilings
          </Header>
        }
        empty={<Box color="inherit">{ceilings.data && `There are no ceilings. ${now(ceilings.data.held)}`}</Box>}
      />
      {open?.what === "create" && <CeilingModal onDismiss={close} />}
      {open?.what === "edit" && <CeilingModal ceiling={open.ceiling} onDismiss={close} />}
      {open?.what === "remove" && <RemoveModal ceiling={open.ceiling} onDismiss={close} />}
    </>
  );
}

function now({ nodes, micros_per_month }: CeilingPage["held"]): string {
  return `The organisation has ${count(nodes, "node")} now, for ${formatDollars(micros_per_month)} a month.`;
}

const nameOf = ({ cluster }: Ceiling): string => cluster?.name ?? "the organisation";

function columns(onOpen: (open: Open) => void): TableProps.ColumnDefinition<Ceiling>[] {
  return [
    {
      id: "of",
      header: "Of",
      isRowHeader: true,
      minWidth: 140,
      cell: ({ cluster }) => (cluster ? `Cluster ${cluster.name}` : "The organisation"),
    },
    {
      id: "nodes",
      header: "Nodes",
      minWidth: 140,
      cell: ({ nodes, held }) =>
        nodes === null ? "Any number" : <Beside most={nodes} is={held.nodes} text={`${held.nodes} of ${nodes}`} />,
    },
    {
      id: "micros",
      header: "Machines, a month",
      minWidth: 200,
      cell: ({ micros_per_month: most, held }) =>
        most === null ? (
          "Any amount"
        ) : (
          <Beside
            most={most}
            is={held.micros_per_month}
            text={`${formatDollars(held.micros_per_month)} of ${formatDollars(most)}`}
          >
            {held.unpriced_nodes > 0 && (
              <Box fontSize="body-s" color="text-body-secondary">
                {count(held.unpriced_nodes, "node")} without a price
              </Box>
            )}
          </Beside>
        ),
    },
    {
      id: "actions",
      header: "Actions",
      minWidth: 150,
      cell: (ceiling) => (
        <SpaceBetween direction="horizontal" size="s">
          <RowButton
            action="set_ceiling"
            allowed={ceiling.allowed_actions}
            ariaLabel={`Change the ceiling of ${nameOf(ceiling)}`}
            onClick={() => onOpen({ what: "edit", ceiling })}
          >
            Change …
          </RowButton>
          <RowButton
            action="remove_ceiling"
            allowed={ceiling.allowed_actions}
            ariaLabel={`Remove the ceiling of ${nameOf(ceiling)}`}
            onClick={() => onOpen({ what: "remove", ceiling })}
          >
            Remove …
          </RowButton>
        </SpaceBetween>
      ),
    },
  ];
}

function Beside({ most, is, text, children }: { most: number; is: number; text: string; children?: ReactNode }) {
  return (
    <>
      <StatusIndicator type={is > most ? "error" : is === most ? "warning" : "success"}>{text}</StatusIndicator>
      {children}
    </>
  );
}

function RemoveModal({ ceiling, onDismiss }: { ceiling: Ceiling; onDismiss: () => void }) {
  const remove = useMutation({
    ...removeCeilingMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: `The ceiling of ${nameOf(ceiling)} is removed.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Remove the ceiling of ${nameOf(ceiling)}?`}
      confirm="Remove"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ path: { ceiling_id: ceiling.id } })}
      onDismiss={onDismiss}
    >
      <Box>Orders and changes are not measured by it any more.</Box>
    </ConfirmModal>
  );
}

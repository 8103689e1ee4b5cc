import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { TableProps } from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Budget, budgetsQuery, deleteBudgetMutation, refresh, useMay } from "../api";
import { BudgetCreateModal, BudgetEditModal } from "../forms/budget";
import { useNow } from "../hooks/use-now";
import { toast } from "../hooks/use-toasts";
import { CursorTable } from "../table/cursor-table";
import { furthest, scopeOf } from "../util/budgets";
import { formatDollars } from "../util/money";
import { lastCursor } from "../util/search";
import { BudgetBar } from "./budget-bar";
import { ConfirmModal } from "./confirm-modal";
import { Moment } from "./moment";
import { RowButton } from "./row-button";

type Open = { what: "create" } | { what: "edit" | "delete"; budget: Budget };

/** The organisation's budgets: what is spent of each this month, and what was crossed. */
export function BudgetTable({
  cursors,
  onCursors,
}: {
  cursors: string[] | undefined;
  onCursors: (cursors: string[] | undefined) => void;
}) {
  const budgets = useQuery(budgetsQuery(lastCursor(cursors)));
  const [open, setOpen] = useState<Open | null>(null);
  const now = useNow(30_000);
  const may = useMay("budgets:write");
  const close = () => setOpen(null);
  return (
    <>
      <CursorTable
        noun="budgets"
        variant="container"
        page={budgets}
        cursors={cursors}
        onCursors={onCursors}
        columns={columns(now, setOpen)}
        header={
          <Header
            variant="h2"
            description="Receivers of alerts are told once a month of each threshold that is crossed."
            actions={
              <Button
                disabled={!may}
                disabledReason={may ? undefined : "Your role may not change budgets."}
                onClick={() => setOpen({ what: "create" })}
              >
                Create budget
              </Button>
            }
          >
            Budgets
          </Header>
        }
        empty={<Box color="inherit">There are no budgets yet. Create one to be told before too much is spent.</Box>}
      />
      {open?.what === "create" && <BudgetCreateModal onDismiss={close} />}
      {open?.what === "edit" && <BudgetEditModal budget={open.budget} onDismiss={close} />}
      {open?.what === "delete" && <DeleteModal budget={open.budget} onDismiss={close} />}
    </>
  );
}

function columns(now: number, onOpen: (open: Open) => void): TableProps.ColumnDefinition<Budget>[] {
  return [
    {
      id: "name",
      header: "Name",
      isRowHeader: true,
      minWidth: 140,
      cell: (budget) => (
        <>
          {budget.name}
          <Box fontSize="body-s" color="text-body-secondary">
            {scopeOf(budget)}
          </Box>
        </>
      ),
    },
    {
      id: "micros",
      header: "A month",
      cell: ({ micros }) => <span className="nowrap">{formatDollars(micros)}</span>,
    },
    { id: "spent", header: "This month", minWidth: 240, cell: (budget) => <BudgetBar budget={budget} /> },
    { id: "crossed", header: "Crossed", minWidth: 160, cell: (budget) => <Crossed budget={budget} now={now} /> },
    {
      id: "actions",
      header: "Actions",
      minWidth: 150,
      cell: (budget) => (
        <SpaceBetween direction="horizontal" size="s">
          <RowButton
            action="update_budget"
            allowed={budget.allowed_actions}
            ariaLabel={`Change: ${budget.name}`}
            onClick={() => onOpen({ what: "edit", budget })}
          >
            Change …
          </RowButton>
          <RowButton
            action="delete_budget"
            allowed={budget.allowed_actions}
            ariaLabel={`Delete: ${budget.name}`}
            onClick={() => onOpen({ what: "delete", budget })}
          >
            Delete …
          </RowButton>
        </SpaceBetween>
      ),
    },
  ];
}

function Crossed({ budget, now }: { budget: Budget; now: number }) {
  const found = furthest(budget.crossings);
  if (found.length === 0) return <StatusIndicator type="success">Nothing</StatusIndicator>;
  return (
    <>
      {found.map(({ measure, percent, crossed_at }) => (
        <div key={measure}>
          <StatusIndicator type={measure === "spent" && percent >= 100 ? "error" : "warning"}>
            {percent} % {measure === "spent" ? "spent" : "by the forecast"}
          </StatusIndicator>
          <Box fontSize="body-s" color="text-body-secondary">
            <Moment at={crossed_at} now={now} />
          </Box>
        </div>
      ))}
    </>
  );
}

function DeleteModal({ budget, onDismiss }: { budget: Budget; onDismiss: () => void }) {
  const remove = useMutation({
    ...deleteBudgetMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: `The budget ${budget.name} is deleted.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Delete ${budget.name}?`}
      confirm="Delete"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ path: { budget_id: budget.id } })}
      onDismiss={onDismiss}
    >
      <Box>Nobody is told any more of what is spent of it. What was spent stays under Costs.</Box>
    </ConfirmModal>
  );
}

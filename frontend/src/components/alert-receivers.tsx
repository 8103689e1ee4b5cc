import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { TableProps } from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type AlertDelivery,
  type AlertReceiver,
  alertReceiversQuery,
  deleteAlertReceiverMutation,
  refresh,
  rotateAlertReceiverSecretMutation,
  testAlertReceiverMutation,
  toApiError,
  useMay,
} from "../api";
import { ReceiverCreateModal } from "../forms/receiver-create";
import { ReceiverEditModal } from "../forms/receiver-edit";
import { toldFrom } from "../forms/receiver-fields";
import { useNow } from "../hooks/use-now";
import { toast } from "../hooks/use-toasts";
import { CursorTable } from "../table/cursor-table";
import { kindLabel, topicsLabel } from "../util/alert-receivers";
import { lastCursor } from "../util/search";
import { ConfirmModal } from "./confirm-modal";
import { DeliveryState } from "./delivery-state";
import { Moment } from "./moment";
import { ReceiverTestModal } from "./receiver-test";
import { RowButton } from "./row-button";
import { SecretModal } from "./secret-modal";

type Open =
  | { what: "create" }
  | { what: "secret"; secret: string }
  | { what: "edit" | "delete" | "rotate"; receiver: AlertReceiver }
  | { what: "test"; receiver: AlertReceiver; delivery: AlertDelivery };

/** Who is told of what happens in the organisation. `onLog`: show what was sent there. */
export function AlertReceivers({
  cursors,
  onCursors,
  onLog,
}: {
  cursors: string[] | undefined;
  onCursors: (cursors: string[] | undefined) => void;
  onLog: (receiver: AlertReceiver) => void;
}) {
  const receivers = useQuery({ ...alertReceiversQuery(lastCursor(cursors)), refetchInterval: 15_000 });
  const [open, setOpen] = useState<Open | null>(null);
  const now = useNow(30_000);
  const may = useMay("alerts:write");
  const close = () => setOpen(null);
  const showSecret = (secret: string | null) => setOpen(secret === null ? null : { what: "secret", secret });
  const test = useMutation({
    ...testAlertReceiverMutation(),
    onError: (problem) => {
      const { message, hint } = toApiError(problem, undefined);
      toast({ type: "error", header: message, content: hint });
    },
  });
  const sendTest = (receiver: AlertReceiver) =>
    test.mutate(
      { path: { receiver_id: receiver.id } },
      { onSuccess: (delivery) => setOpen({ what: "test", receiver, delivery }) },
    );
  return (
    <>
      <CursorTable
        noun="receivers"
        variant="container"
        page={receivers}
        cursors={cursors}
        onCursors={onCursors}
        columns={columns(now, { onTest: sendTest, onLog, onOpen: setOpen })}
        header={
          <Header
            variant="h2"
            description="Who is told of alerts, budgets, operations and the audit log: by mail, Slack, PagerDuty or a signed webhook."
            actions={
              <Button
                disabled={!may}
                disabledReason={may ? undefined : "Your role may not change who is told."}
                onClick={() => setOpen({ what: "create" })}
              >
                Add receiver
              </Button>
            }
          >
            Receivers
          </Header>
        }
        empty={<Box color="inherit">Nobody is told yet. Add a receiver, and send it a test.</Box>}
      />
      {open?.what === "create" && <ReceiverCreateModal onDismiss={close} onCreated={showSecret} />}
      {open?.what === "secret" && (
        <SecretModal
          title="The secret of the webhook"
          label="signing secret"
          secret={open.secret}
          hint="Messages are signed with it: docs/alerts.md says how to check. It is not shown again."
          onDone={close}
        />
      )}
      {open?.what === "edit" && <ReceiverEditModal receiver={open.receiver} onDismiss={close} />}
      {open?.what === "delete" && <DeleteModal receiver={open.receiver} onDismiss={close} />}
      {open?.what === "rotate" && (
        <RotateModal receiver={open.receiver} onDismiss={close} onRotated={(secret) => showSecret(secret)} />
      )}
      {open?.what === "test" && (
        <ReceiverTestModal
          receiver={open.receiver}
          delivery={open.delivery}
          onDismiss={() => {
            close();
            void refresh();
          }}
        />
      )}
    </>
  );
}

function columns(
  now: number,
  on: {
    onTest: (receiver: AlertReceiver) => void;
    onLog: (receiver: AlertReceiver) => void;
    onOpen: (open: Open) => void;
  },
): TableProps.ColumnDefinition<AlertReceiver>[] {
  return [
    {
      id: "name",
      header: "Name",
      isRowHeader: true,
      minWidth: 120,
      cell: ({ name, enabled }) => (
        <>
          {name}
          {!enabled && <StatusIndicator type="stopped">Off</StatusIndicator>}
        </>
      ),
    },
    {
      id: "where",
      header: "Where to",
      minWidth: 180,
      cell: ({ kind, target }) => (
        <>
          {kindLabel(kind)}
          <Box fontSize="body-s" color="text-body-secondary">
            {target}
          </Box>
        </>
      ),
    },
    {
      id: "what",
      header: "Told of",
      minWidth: 140,
      cell: ({ topics, severity, cluster_ids }) => (
        <>
          {topicsLabel(topics)}
          <Box fontSize="body-s" color="text-body-secondary">
            {toldFrom(severity)}, {cluster_ids.length === 0 ? "all clusters" : `${cluster_ids.length} chosen`}
          </Box>
        </>
      ),
    },
    {
      id: "last",
      header: "Last message",
      minWidth: 160,
      cell: ({ last_delivery }) =>
        last_delivery ? (
          <>
            <DeliveryState delivery={last_delivery} />
            <Box fontSize="body-s" color="text-body-secondary">
              <Moment at={last_delivery.created_at} now={now} />
            </Box>
          </>
        ) : (
          "None yet"
        ),
    },
    {
      id: "actions",
      header: "Actions",
      minWidth: 250,
      cell: (receiver) => {
        const button = (action: string, text: string, onClick: () => void) => (
          <RowButton
            action={action}
            allowed={receiver.allowed_actions}
            ariaLabel={`${text.replace(" …", "")}: ${receiver.name}`}
            onClick={onClick}
          >
            {text}
          </RowButton>
        );
        return (
          <SpaceBetween direction="horizontal" size="s">
            {button("test_alert_receiver", "Send a test", () => on.onTest(receiver))}
            <Button variant="inline-link" ariaLabel={`Log: ${receiver.name}`} onClick={() => on.onLog(receiver)}>
              Log
            </Button>
            {button("update_alert_receiver", "Change …", () => on.onOpen({ what: "edit", receiver }))}
            {receiver.kind === "webhook" &&
              button("rotate_alert_receiver_secret", "New secret …", () => on.onOpen({ what: "rotate", receiver }))}
            {button("delete_alert_receiver", "Delete …", () => on.onOpen({ what: "delete", receiver }))}
          </SpaceBetween>
        );
      },
    },
  ];
}

function DeleteModal({ receiver, onDismiss }: { receiver: AlertReceiver; onDismiss: () => void }) {
  const remove = useMutation({
    ...deleteAlertReceiverMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: `${receiver.name} is told no more.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Delete ${receiver.name}?`}
      confirm="Delete"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ path: { receiver_id: receiver.id } })}
      onDismiss={onDismiss}
    >
      <Box>Nothing is sent there any more, not even what waits. Its keys are destroyed.</Box>
    </ConfirmModal>
  );
}

function RotateModal({
  receiver,
  onDismiss,
  onRotated,
}: {
  receiver: AlertReceiver;
  onDismiss: () => void;
  onRotated: (secret: string | null) => void;
}) {
  const rotate = useMutation({
    ...rotateAlertReceiverSecretMutation(),
    gcTime: 0,
    onSuccess: ({ signing_secret }) => {
      onRotated(signing_secret);
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`A new secret for ${receiver.name}?`}
      confirm="Make it"
      isPending={rotate.isPending}
      error={rotate.error}
      onConfirm={() => rotate.mutate({ path: { receiver_id: receiver.id } })}
      onDismiss={onDismiss}
    >
      <Box>The secret before is not used again from the next message on. Tell the other side the new one at once.</Box>
    </ConfirmModal>
  );
}

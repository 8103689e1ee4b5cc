import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation, useQuery } from "@tanstack/react-query";
import {
  type AlertDelivery,
  type AlertReceiver,
  alertDeliveryQuery,
  refresh,
  replayAlertDeliveryMutation,
  useMay,
} from "../api";
import { toast } from "../hooks/use-toasts";
import { DeliveryState } from "./delivery-state";
import { ErrorBox } from "./error-box";

/** One message as it was sent, and a button that sends it again. */
export function DeliveryMessageModal({
  receiver,
  delivery,
  onDismiss,
}: {
  receiver: AlertReceiver;
  delivery: AlertDelivery;
  onDismiss: () => void;
}) {
  const found = useQuery(alertDeliveryQuery(receiver.id, delivery.id));
  const may = useMay("alerts:write");
  const replay = useMutation({
    ...replayAlertDeliveryMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: "It is sent again, as a message of its own." });
      return refresh();
    },
  });
  const shown = found.data ?? delivery;
  const against = againstReplaying(may, shown);
  return (
    <Modal
      visible
      size="large"
      header={delivery.title}
      closeAriaLabel="Close"
      onDismiss={onDismiss}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            <Button
              loading={replay.isPending}
              disabled={against !== undefined}
              disabledReason={against}
              onClick={() => replay.mutate({ path: { receiver_id: receiver.id, delivery_id: delivery.id } })}
            >
              Send again
            </Button>
            <Button variant="primary" onClick={onDismiss}>
              Close
            </Button>
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="s">
        <DeliveryState delivery={shown} />
        {shown.result && <Box>{shown.result}</Box>}
        {shown.replay_of && <Box color="text-body-secondary">It says again what {shown.replay_of} said.</Box>}
        {found.isError && <ErrorBox error={found.error} onRetry={() => void found.refetch()} />}
        {replay.isError && <ErrorBox error={replay.error} />}
        {found.data && (
          <section aria-label="What was sent">
            <Box variant="pre">{JSON.stringify({ id: found.data.id, ...found.data.content }, null, 2)}</Box>
          </section>
        )}
      </SpaceBetween>
    </Modal>
  );
}

function againstReplaying(may: boolean, { state }: AlertDelivery): string | undefined {
  if (!may) return "Your role may not send messages.";
  return state === "pending" ? "It is still on its way." : undefined;
}

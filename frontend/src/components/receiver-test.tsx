import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useQuery } from "@tanstack/react-query";
import { type AlertDelivery, type AlertReceiver, alertDeliveriesQuery } from "../api";
import { useNow } from "../hooks/use-now";
import { DeliveryState } from "./delivery-state";
import { ErrorBox } from "./error-box";

const ASK_MS = 1000;
/** A worker takes a message within seconds; when it takes longer, nobody may be there to do it. */
const LATE_MS = 20_000;

/** How a test message went: it is asked for until it has. */
export function ReceiverTestModal({
  receiver,
  delivery,
  onDismiss,
}: {
  receiver: AlertReceiver;
  delivery: AlertDelivery;
  onDismiss: () => void;
}) {
  const now = useNow(ASK_MS);
  const page = useQuery({
    ...alertDeliveriesQuery(receiver.id),
    refetchInterval: ({ state }) => (find(state.data?.items, delivery).state === "pending" ? ASK_MS : false),
  });
  const latest = find(page.data?.items, delivery);
  const isLate = latest.state === "pending" && now - Date.parse(delivery.created_at) > LATE_MS;
  return (
    <Modal
      visible
      header={`Test of ${receiver.name}`}
      closeAriaLabel="Close"
      onDismiss={onDismiss}
      footer={
        <Box float="right">
          <Button variant="primary" onClick={onDismiss}>
            Done
          </Button>
        </Box>
      }
    >
      <SpaceBetween size="s">
        <Box>A message that says it is a test, to {receiver.target}</Box>
        <div aria-live="polite">
          <DeliveryState delivery={latest} />
        </div>
        {latest.result && <Box color="text-body-secondary">{latest.result}</Box>}
        {latest.state === "failed" && (
          <Box>A test is tried once. Look at the address, and at the other side, and send another.</Box>
        )}
        {isLate && (
          <Box color="text-status-warning">Nobody has taken it yet. Look whether workers run (make status).</Box>
        )}
        {page.isError && <ErrorBox error={page.error} onRetry={() => void page.refetch()} />}
      </SpaceBetween>
    </Modal>
  );
}

function find(items: AlertDelivery[] | undefined, delivery: AlertDelivery): AlertDelivery {
  return items?.find(({ id }) => id === delivery.id) ?? delivery;
}

import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import {
  type Cluster,
  type ClusterNetwork,
  createNetworkConnectionMutation,
  type NetworkConnectionOrder,
  refresh,
  toApiError,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";
import { DatacenterField } from "./datacenter-field";

const KINDS = {
  peering: { label: "Peering", description: "Your network and the cluster's reach each other." },
  endpoint: { label: "Endpoint", description: "The nodes reach a service that somebody publishes in the same region." },
};

/** A peering with another network, or an endpoint for a service. */
export function ConnectionCreateModal({
  cluster,
  network,
  onDismiss,
}: {
  cluster: Cluster;
  network: ClusterNetwork;
  onDismiss: () => void;
}) {
  const [kind, setKind] = useState(network.connection_kinds[0] ?? "peering");
  const [datacenter, setDatacenter] = useState(network.datacenters[0]?.datacenter ?? "");
  const [values, setValues] = useState<Record<string, string>>({});
  const create = useMutation({
    ...createNetworkConnectionMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "The provider is being asked for it." });
      onDismiss();
      return refresh();
    },
  });
  const error = create.isError ? toApiError(create.error, undefined) : undefined;
  const value = (field: string) => values[field]?.trim() ?? "";
  const missing = ["name", ...(kind === "peering" ? ["peer_network", "cidrs"] : ["service"])].some(
    (each) => !value(each),
  );
  const field = (name: string, label: string, placeholder: string, description?: string) => (
    <FormField
      key={name}
      label={label}
      description={description}
      errorText={
        error?.fields[name] ?? Object.entries(error?.fields ?? {}).find(([each]) => each.startsWith(`${name}.`))?.[1]
      }
    >
      <Input
        value={values[name] ?? ""}
        placeholder={placeholder}
        autoComplete={false}
        spellcheck={false}
        onChange={({ detail }) => setValues({ ...values, [name]: detail.value })}
      />
    </FormField>
  );
  return (
    <ConfirmModal
      title="Connect the network"
      confirm="Connect"
      isPending={create.isPending}
      error={create.error}
      disabledReason={missing ? "Fill in what is asked for." : undefined}
      onConfirm={() => create.mutate({ path: { cluster_id: cluster.id }, body: order(kind, datacenter, value) })}
      onDismiss={onDismiss}
    >
      <RadioGroup
        ariaLabel="Kind of connection"
        value={kind}
        items={network.connection_kinds.map((each) => ({ value: each, ...KINDS[each] }))}
        onChange={({ detail }) => setKind(detail.value as typeof kind)}
      />
      <DatacenterField cluster={cluster} value={datacenter} onChange={setDatacenter} />
      {field("name", "Name", "shop", "Lower-case letters, digits and hyphens.")}
      {kind === "peering" ? (
        <SpaceBetween size="m">
          {field("peer_network", "Network at the other end", "vpc-0123", "Id of the VPC, or name of the VPC network.")}
          {field("peer_owner", "Its account or project (optional)", "123456789012", "Empty: the cluster's own.")}
          {field("peer_region", "Its region (optional)", "eu-west-1", "AWS only. Empty: that of the data centre.")}
          {field("cidrs", "Clients' addresses there (CIDR)", "172.20.0.0/16", "Several are separated by commas.")}
        </SpaceBetween>
      ) : (
        field("service", "Service", "com.amazonaws.vpce.eu-west-1.vpce-svc-0123")
      )}
    </ConfirmModal>
  );
}

function order(
  kind: "peering" | "endpoint",
  datacenter: string,
  value: (field: string) => string,
): NetworkConnectionOrder {
  if (kind === "endpoint") return { kind, name: value("name"), datacenter, service: value("service") };
  return {
    kind,
    name: value("name"),
    datacenter,
    peer_network: value("peer_network"),
    peer_owner: value("peer_owner"),
    peer_region: value("peer_region"),
    cidrs: value("cidrs")
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean),
  };
}

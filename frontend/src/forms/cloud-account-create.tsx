import Checkbox from "@cloudscape-design/components/checkbox";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Tiles from "@cloudscape-design/components/tiles";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type CloudAccountOrder, createCloudAccountMutation, refresh, toApiError } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { type Cloud, cloudName } from "../util/clouds";

export function CloudAccountCreateModal({
  clouds,
  onDismiss,
  onCreated,
}: {
  clouds: readonly Cloud[];
  onDismiss: () => void;
  onCreated: (id: string) => void;
}) {
  const [provider, setProvider] = useState<Cloud>(clouds[0] ?? "aws");
  const [name, setName] = useState("");
  const [role, setRole] = useState("");
  const [project, setProject] = useState("");
  const [isPublic, setIsPublic] = useState(false);
  const [networks, setNetworks] = useState("");
  const [vpcs, setVpcs] = useState("");
  const create = useMutation({
    ...createCloudAccountMutation(),
    onSuccess: ({ cloud_account }) => {
      onCreated(cloud_account.id);
      return refresh();
    },
  });
  const error = create.isError ? toApiError(create.error, undefined) : undefined;
  const where = provider === "aws" ? role : project;
  const missing =
    name === "" ? "Enter a name." : where === "" ? `Enter the ${provider === "aws" ? "role" : "project"}.` : undefined;

  const body: CloudAccountOrder = {
    name,
    provider,
    ...(provider === "aws" ? { role_arn: role } : { project }),
    settings: {
      public_addresses: isPublic,
      networks: networks === "" ? null : networks,
      vpcs: provider === "aws" ? readVpcs(vpcs) : {},
    },
  };
  return (
    <ConfirmModal
      title="Add cloud account"
      confirm="Add and check"
      size="large"
      isPending={create.isPending}
      error={create.error}
      disabledReason={missing}
      onConfirm={() => create.mutate({ body })}
      onDismiss={onDismiss}
    >
      <FormField label="Cloud" stretch>
        <Tiles
          ariaLabel="Cloud"
          value={provider}
          items={clouds.map((cloud) => ({ value: cloud, label: cloudName(cloud) }))}
          onChange={({ detail }) => setProvider(detail.value as Cloud)}
        />
      </FormField>
      <FormField label="Account name" errorText={error?.fields.name}>
        <Input value={name} autoComplete={false} onChange={({ detail }) => setName(detail.value)} />
      </FormField>
      {provider === "aws" ? (
        <FormField
          label="Role"
          description="The role that the control plane takes on. It need not be there yet: the next page says how to make it."
          constraintText="Its name starts with ringmaster-."
          errorText={error?.fields.role_arn}
        >
          <Input
            value={role}
            placeholder="arn:aws:iam::123456789012:role/ringmaster-shop"
            spellcheck={false}
            autoComplete={false}
            onChange={({ detail }) => setRole(detail.value.trim())}
          />
        </FormField>
      ) : (
        <FormField
          label="Project"
          description="In which machines are made. The next page says how to make the service account."
          errorText={error?.fields.project}
        >
          <Input
            value={project}
            placeholder="acme-shop"
            spellcheck={false}
            autoComplete={false}
            onChange={({ detail }) => setProject(detail.value.trim())}
          />
        </FormField>
      )}
      <ExpandableSection headerText="Networks">
        <SpaceBetween size="m">
          <Checkbox
            checked={isPublic}
            description="Otherwise the control plane needs a way into your networks."
            onChange={({ detail }) => setIsPublic(detail.checked)}
          >
            Give machines public addresses
          </Checkbox>
          <FormField
            label="Addresses of networks"
            description="Clusters' networks are cut from this block. Empty: from that of the installation."
            errorText={error?.fields["settings.networks"]}
          >
            <Input
              value={networks}
              placeholder="10.32.0.0/12"
              autoComplete={false}
              onChange={({ detail }) => setNetworks(detail.value.trim())}
            />
          </FormField>
          {provider === "aws" && (
            <FormField
              label="Your own VPCs"
              description="By region, comma separated. Elsewhere each cluster gets a VPC."
              errorText={error?.fields["settings.vpcs"]}
            >
              <Input
                value={vpcs}
                placeholder="eu-west-1=vpc-0123456789abcdef0"
                spellcheck={false}
                autoComplete={false}
                onChange={({ detail }) => setVpcs(detail.value)}
              />
            </FormField>
          )}
        </SpaceBetween>
      </ExpandableSection>
    </ConfirmModal>
  );
}

function readVpcs(text: string): Record<string, string> {
  const entries = text.split(",").filter((entry) => entry.trim() !== "");
  return Object.fromEntries(
    entries.map((entry) => {
      const [region = "", vpc = ""] = entry.split("=").map((part) => part.trim());
      return [region, vpc];
    }),
  );
}

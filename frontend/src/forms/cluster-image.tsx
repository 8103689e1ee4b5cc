import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Select, { type SelectProps } from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { buildsQuery, type Cluster, type MachineImage, refresh, toApiError, updateClusterMutation } from "../api";
import { ActionButton } from "../components/action-button";
import { ErrorBox } from "../components/error-box";
import { toast } from "../hooks/use-toasts";

const NOT_PINNED: SelectProps.Option = {
  value: "",
  label: "The default",
  description: "New machines are made from the default image of the engine's version.",
};

/** What new machines of a cluster in a cloud are made from. */
export function ClusterImageForm({ cluster }: { cluster: Cluster }) {
  const saved = cluster.image_build ?? "";
  const [build, setBuild] = useState(saved);
  const images = useQuery(buildsQuery(cluster));
  const update = useMutation({
    ...updateClusterMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "Saved." });
      return refresh();
    },
  });
  const options = [NOT_PINNED, ...optionsOf(images.data?.items ?? [], saved)];
  const error = update.isError ? toApiError(update.error, undefined) : undefined;
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Machines that are there stay as they are. An upgrade of the engine ends the pin."
          actions={
            <ActionButton
              ariaLabel="Save machine image"
              action="update_cluster"
              allowed={cluster.allowed_actions}
              loading={update.isPending}
              onClick={() => update.mutate({ path: { cluster_id: cluster.id }, body: { image_build: build } })}
            >
              Save
            </ActionButton>
          }
        >
          Machine image
        </Header>
      }
    >
      <SpaceBetween size="m">
        {error && <ErrorBox error={error} />}
        <FormField
          label="New machines are made from"
          constraintText="Platform administrators register images under Images."
          errorText={error?.fields.image_build}
        >
          <Select
            options={options}
            selectedOption={options.find(({ value }) => value === build) ?? NOT_PINNED}
            statusType={images.isLoading ? "loading" : images.isError ? "error" : "finished"}
            loadingText="Loading images"
            errorText="The images could not be loaded."
            recoveryText="Try again"
            onLoadItems={() => void (images.isError && images.refetch())}
            onChange={({ detail }) => setBuild(detail.selectedOption.value ?? "")}
          />
        </FormField>
      </SpaceBetween>
    </Container>
  );
}

/** A line per build: it has an image for each region and architecture. The one that is pinned is there in any case. */
function optionsOf(images: MachineImage[], saved: string): SelectProps.Option[] {
  const builds = new Map<string, SelectProps.Option>();
  if (saved !== "") builds.set(saved, { value: saved, label: saved });
  for (const { build_id, base, state } of images) {
    if (state === "deprecated" && build_id !== saved) continue;
    builds.set(build_id, { value: build_id, label: build_id, description: [base, state].filter(Boolean).join(", ") });
  }
  return [...builds.values()];
}

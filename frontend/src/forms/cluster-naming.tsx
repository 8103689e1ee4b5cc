import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Cluster, refresh, toApiError, updateClusterMutation } from "../api";
import { ActionButton } from "../components/action-button";
import { ErrorBox } from "../components/error-box";
import { toast } from "../hooks/use-toasts";
import type { Tag } from "../util/order";
import { TagsEditor } from "./tags-editor";

/** What a cluster is called and labelled with. */
export function ClusterNamingForm({ cluster }: { cluster: Cluster }) {
  const [name, setName] = useState(cluster.name);
  const [tags, setTags] = useState<Tag[]>(
    Object.entries(cluster.options.tags ?? {}).map(([key, value]) => ({ key, value: String(value) })),
  );
  const update = useMutation({
    ...updateClusterMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "Saved." });
      return refresh();
    },
  });
  const error = update.isError ? toApiError(update.error, undefined) : undefined;
  return (
    <Container
      header={
        <Header
          variant="h2"
          actions={
            <ActionButton
              ariaLabel="Save name and tags"
              action="update_cluster"
              allowed={cluster.allowed_actions}
              loading={update.isPending}
              onClick={() =>
                update.mutate({
                  path: { cluster_id: cluster.id },
                  body: {
                    name,
                    tags: Object.fromEntries(
                      tags.filter(({ key }) => key !== "").map(({ key, value }) => [key, value]),
                    ),
                  },
                })
              }
            >
              Save
            </ActionButton>
          }
        >
          Name and tags
        </Header>
      }
    >
      <SpaceBetween size="m">
        {error && <ErrorBox error={error} />}
        <FormField
          label="Name"
          description="Renaming changes nothing for applications: addresses and certificates stay."
          errorText={error?.fields.name}
        >
          <Input
            value={name}
            autoComplete={false}
            spellcheck={false}
            onChange={({ detail }) => setName(detail.value)}
          />
        </FormField>
        <FormField label="Tags" errorText={error?.fields.tags} stretch>
          <TagsEditor tags={tags} onChange={setTags} />
        </FormField>
      </SpaceBetween>
    </Container>
  );
}

import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { type Cluster, editableCluster, refresh, toApiError } from "../api";
import { ActionButton } from "../components/action-button";
import { ChangedMeanwhile } from "../components/changed-meanwhile";
import { ErrorBox } from "../components/error-box";
import { useEdit } from "../hooks/use-edit";
import { toast } from "../hooks/use-toasts";
import type { Tag } from "../util/order";
import { TagsEditor } from "./tags-editor";

/** What a cluster is called and labelled with. */
export function ClusterNamingForm({ cluster }: { cluster: Cluster }) {
  const [name, setName] = useState(cluster.name);
  const [tags, setTags] = useState(tagsOf(cluster));
  const edit = useEdit({
    editable: editableCluster(cluster.id),
    opened: cluster,
    edited: (found) => [found.name, tagsOf(found)],
    onSuccess: () => {
      toast({ type: "success", content: "Saved." });
      return refresh();
    },
  });
  const error = edit.error ? toApiError(edit.error, undefined) : undefined;
  const body = {
    name,
    tags: Object.fromEntries(tags.filter(({ key }) => key !== "").map(({ key, value }) => [key, value])),
  };
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
              loading={edit.isPending}
              onClick={() => edit.save(body)}
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
        <ChangedMeanwhile
          edit={edit}
          words={wordsOf}
          onLoad={(now) => {
            setName(now.name);
            setTags(tagsOf(now));
            edit.load();
          }}
          onSaveOver={() => edit.saveOver(body)}
        />
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

const tagsOf = ({ options }: Cluster): Tag[] =>
  Object.entries(options.tags ?? {}).map(([key, value]) => ({ key, value: String(value) }));

const wordsOf = (cluster: Cluster) => ({
  Name: cluster.name,
  Tags: tagsOf(cluster)
    .map(({ key, value }) => `${key}=${value}`)
    .join(", "),
});

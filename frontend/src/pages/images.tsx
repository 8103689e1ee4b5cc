import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import type { TableProps } from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import {
  catalogQuery,
  deprecateImageMutation,
  imagesQuery,
  type MachineImage,
  makeImageDefaultMutation,
  refresh,
  restoreImageMutation,
  useMay,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { RowButton } from "../components/row-button";
import { ImageRegisterModal } from "../forms/image-register";
import { useNow } from "../hooks/use-now";
import { useTitle } from "../hooks/use-title";
import { CursorTable } from "../table/cursor-table";
import { Copy } from "../ui/copy";
import { cloudName, cloudsOf } from "../util/clouds";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/images");

export function ImagesPage() {
  useTitle("Images");
  const navigate = route.useNavigate();
  const { after } = route.useSearch();
  const images = useQuery(imagesQuery(lastCursor(after)));
  const catalog = useQuery(catalogQuery());
  const now = useNow(30_000);
  const mayChange = useMay("images:write");
  const clouds = cloudsOf(catalog.data);
  const [isRegistering, setIsRegistering] = useState(false);
  const [deprecating, setDeprecating] = useState<MachineImage | null>(null);
  const makeDefault = useMutation({ ...makeImageDefaultMutation(), onSuccess: () => refresh() });
  const restore = useMutation({ ...restoreImageMutation(), onSuccess: () => refresh() });
  const reason = !mayChange
    ? "Only people who run this installation may change images."
    : clouds.length === 0
      ? "This installation offers no cloud."
      : undefined;

  return (
    <SpaceBetween size="m">
      {makeDefault.isError && <ErrorBox error={makeDefault.error} />}
      {restore.isError && <ErrorBox error={restore.error} />}
      <CursorTable
        noun="images"
        page={images}
        columns={columns(now, {
          onDefault: (image) => makeDefault.mutate({ path: { image_id: image.id } }),
          onRestore: (image) => restore.mutate({ path: { image_id: image.id } }),
          onDeprecate: setDeprecating,
        })}
        cursors={after}
        onCursors={(cursors) => void navigate({ search: { after: cursors } })}
        header={
          <Header
            variant="h1"
            description="What the machines of nodes are made from. The same for all organisations of this installation."
            actions={
              <Button
                variant="primary"
                disabled={reason !== undefined}
                disabledReason={reason}
                onClick={() => setIsRegistering(true)}
              >
                Register image
              </Button>
            }
          >
            Images
          </Header>
        }
        empty={
          <SpaceBetween size="xs">
            <Box color="inherit">No images registered.</Box>
            <Box color="text-body-secondary">
              Machines are made from the newest image that the cloud has under our tags.
            </Box>
          </SpaceBetween>
        }
      />
      {isRegistering && catalog.data && (
        <ImageRegisterModal catalog={catalog.data} onDismiss={() => setIsRegistering(false)} />
      )}
      {deprecating && <DeprecateModal image={deprecating} onDismiss={() => setDeprecating(null)} />}
    </SpaceBetween>
  );
}

const STATE: Record<MachineImage["state"], [StatusIndicatorProps.Type, string]> = {
  default: ["success", "Default"],
  available: ["info", "Available"],
  deprecated: ["stopped", "Deprecated"],
};

interface Actions {
  onDefault: (image: MachineImage) => void;
  onRestore: (image: MachineImage) => void;
  onDeprecate: (image: MachineImage) => void;
}

function columns(
  now: number,
  { onDefault, onRestore, onDeprecate }: Actions,
): TableProps.ColumnDefinition<MachineImage>[] {
  return [
    {
      id: "build",
      header: "Build",
      isRowHeader: true,
      minWidth: 140,
      cell: ({ build_id, engine, engine_version }) => <Lines first={build_id} second={`${engine} ${engine_version}`} />,
    },
    {
      id: "place",
      header: "For",
      minWidth: 130,
      cell: ({ provider, region, architecture }) => (
        <Lines first={cloudName(provider)} second={`${region ?? "all regions"}, ${architecture}`} />
      ),
    },
    {
      id: "state",
      header: "State",
      minWidth: 140,
      cell: ({ state, deprecation_reason }) => {
        const [type, text] = STATE[state];
        return (
          <>
            <StatusIndicator type={type} wrapText={false}>
              {text}
            </StatusIndicator>
            {deprecation_reason && (
              <Box fontSize="body-s" color="text-body-secondary">
                {deprecation_reason}
              </Box>
            )}
          </>
        );
      },
    },
    {
      id: "image",
      header: "Image",
      minWidth: 220,
      cell: ({ cloud_id }) => (
        <Copy value={cloud_id} label={`id of ${cloud_id}`} shown={cloud_id.split("/").at(-1) ?? cloud_id} />
      ),
    },
    {
      id: "contents",
      header: "Contents",
      minWidth: 160,
      cell: ({ agent_version, base, sbom }) => (
        <Lines
          first={[agent_version && `agent ${agent_version}`, base].filter(Boolean).join(", ") || "–"}
          second={sbom && `SBOM: ${sbom}`}
        />
      ),
    },
    { id: "registered", header: "Registered", cell: ({ registered_at }) => <Moment at={registered_at} now={now} /> },
    {
      id: "actions",
      header: "Actions",
      minWidth: 130,
      cell: (image) => (
        <SpaceBetween size="xxs">
          <RowButton
            action="make_image_default"
            allowed={image.allowed_actions}
            ariaLabel={`Make default: ${image.cloud_id}`}
            onClick={() => onDefault(image)}
          >
            Make default
          </RowButton>
          {image.state === "deprecated" ? (
            <RowButton
              action="restore_image"
              allowed={image.allowed_actions}
              ariaLabel={`Restore ${image.cloud_id}`}
              onClick={() => onRestore(image)}
            >
              Restore
            </RowButton>
          ) : (
            <RowButton
              action="deprecate_image"
              allowed={image.allowed_actions}
              ariaLabel={`Deprecate ${image.cloud_id}`}
              onClick={() => onDeprecate(image)}
            >
              Deprecate
            </RowButton>
          )}
        </SpaceBetween>
      ),
    },
  ];
}

function Lines({ first, second }: { first: string; second: string }) {
  return (
    <>
      <div>{first}</div>
      {second && (
        <Box fontSize="body-s" color="text-body-secondary">
          {second}
        </Box>
      )}
    </>
  );
}

function DeprecateModal({ image, onDismiss }: { image: MachineImage; onDismiss: () => void }) {
  const [reason, setReason] = useState("");
  const deprecate = useMutation({
    ...deprecateImageMutation(),
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Deprecate build ${image.build_id}?`}
      confirm="Deprecate"
      isPending={deprecate.isPending}
      error={deprecate.error}
      disabledReason={reason === "" ? "Say why." : undefined}
      onConfirm={() => deprecate.mutate({ path: { image_id: image.id }, body: { reason } })}
      onDismiss={onDismiss}
    >
      <Box>No new cluster is made from it. Clusters that run from it go on, and are told.</Box>
      <FormField label="Why" description="A sentence for the people whose clusters run from it.">
        <Input value={reason} onChange={({ detail }) => setReason(detail.value)} />
      </FormField>
    </ConfirmModal>
  );
}

import Box from "@cloudscape-design/components/box";
import { useMutation } from "@tanstack/react-query";
import { type AccessSettings, refresh, updateAccessSettingsMutation } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { useSecondPerson } from "../hooks/use-second-person";
import { toast } from "../hooks/use-toasts";
import { DeletionAskModal } from "./deletion-ask";

interface Props {
  settings: AccessSettings;
  organisationId: string;
  onDismiss: () => void;
}

/** Turns it on or, when two people want that, off. */
export function TwoPersonDeletesModal({ settings, organisationId, onDismiss }: Props) {
  const second = useSecondPerson(organisationId);
  const change = useMutation({
    ...updateAccessSettingsMutation(),
    onSuccess: ({ deletes_need_two }) => {
      onDismiss();
      toast({ type: "success", content: deletes_need_two ? "Deletes take two people." : "Deletes take one person." });
      return refresh();
    },
  });
  if (second.isPending) return null;
  if (second.isMissing)
    return (
      <DeletionAskModal
        title="Let one person delete again?"
        targetType="access_settings"
        targetId={organisationId}
        request={second.request}
        onDismiss={onDismiss}
      />
    );
  const isOn = settings.deletes_need_two;
  return (
    <ConfirmModal
      title={isOn ? "Let one person delete again?" : "Have two people delete?"}
      confirm={isOn ? "Turn off" : "Turn on"}
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate({ body: { deletes_need_two: !isOn } })}
      onDismiss={onDismiss}
    >
      <Box>
        {isOn
          ? "Whoever may delete clusters and backups can do so alone from then on."
          : "Clusters and backups are deleted only when a second person has confirmed it. Turning it off takes two people, too."}
      </Box>
    </ConfirmModal>
  );
}

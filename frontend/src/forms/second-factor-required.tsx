import Box from "@cloudscape-design/components/box";
import { useMutation } from "@tanstack/react-query";
import { type AccessSettings, refresh, updateAccessSettingsMutation } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";

/** Whether members need a second factor. */
export function SecondFactorRequiredModal({
  settings,
  onDismiss,
}: {
  settings: AccessSettings;
  onDismiss: () => void;
}) {
  const change = useMutation({
    ...updateAccessSettingsMutation(),
    onSuccess: ({ second_factor_required }) => {
      onDismiss();
      toast({
        type: "success",
        content: second_factor_required ? "A second factor is required." : "A second factor is not required.",
      });
      return refresh();
    },
  });
  const isOn = settings.second_factor_required;
  return (
    <ConfirmModal
      title={isOn ? "Let members in without a second factor?" : "Require a second factor?"}
      confirm={isOn ? "Turn off" : "Turn on"}
      isPending={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate({ body: { second_factor_required: !isOn } })}
      onDismiss={onDismiss}
    >
      <Box>
        {isOn
          ? "The password alone is enough then, for who has set nothing else up."
          : "Members who signed in without one see nothing of the organisation, at once, until they have set one up. API tokens go on."}
      </Box>
    </ConfirmModal>
  );
}

import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type AccessSettings, refresh, toApiError, updateAccessSettingsMutation } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { toast } from "../hooks/use-toasts";

/** How long API tokens of the organisation live. */
export function TokenSettingsModal({ settings, onDismiss }: { settings: AccessSettings; onDismiss: () => void }) {
  const [usual, setUsual] = useState(String(settings.token_days_default ?? ""));
  const [most, setMost] = useState(String(settings.token_days_max ?? ""));
  const change = useMutation({
    ...updateAccessSettingsMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: "Saved." });
      return refresh();
    },
  });
  const errors = change.isError ? toApiError(change.error, undefined).fields : {};
  const isWrong = [usual, most].some((text) => !/^[0-9]*$/.test(text.trim()));
  return (
    <ConfirmModal
      title="How long API tokens live"
      confirm="Save"
      isPending={change.isPending}
      error={change.error}
      disabledReason={isWrong ? "Enter days as whole numbers, or nothing." : undefined}
      onConfirm={() => change.mutate({ body: { token_days_default: days(usual), token_days_max: days(most) } })}
      onDismiss={onDismiss}
    >
      <FormField
        label="Days when nobody says"
        description="Empty: as long as they may."
        errorText={errors.token_days_default}
      >
        <Input
          value={usual}
          inputMode="numeric"
          autoComplete={false}
          onChange={({ detail }) => setUsual(detail.value)}
        />
      </FormField>
      <FormField
        label="Days at most"
        description="Empty: for ever. Tokens that are there keep their time."
        errorText={errors.token_days_max}
      >
        <Input value={most} inputMode="numeric" autoComplete={false} onChange={({ detail }) => setMost(detail.value)} />
      </FormField>
    </ConfirmModal>
  );
}

function days(text: string): number | null {
  return text.trim() === "" ? null : Number(text);
}

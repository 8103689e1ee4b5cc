import FormField from "@cloudscape-design/components/form-field";
import Input, { type InputProps } from "@cloudscape-design/components/input";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { sendPasswordAgain } from "../api";
import { ConfirmModal } from "./confirm-modal";

/** The dialog takes the focus when it opens; this comes after it. */
function focusSoon(input: InputProps.Ref | null) {
  if (input) setTimeout(() => input.focus());
}

/** Before something that a browser left open is not to do. Then what was wanted is done. */
export function PasswordAgainModal({ onDone, onDismiss }: { onDone: () => void; onDismiss: () => void }) {
  const [password, setPassword] = useState("");
  const send = useMutation({ mutationFn: sendPasswordAgain, onSuccess: onDone });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (password) send.mutate(password);
      }}
    >
      <ConfirmModal
        title="Your password, please"
        confirm="Continue"
        isPending={send.isPending}
        error={send.error}
        disabledReason={password ? undefined : "Enter your password."}
        onConfirm={() => send.mutate(password)}
        onDismiss={onDismiss}
      >
        <FormField
          label="Password"
          description="You signed in a while ago. Who signs in elsewhere, through an identity provider, does so anew."
        >
          <Input
            type="password"
            ref={focusSoon}
            autoComplete="current-password"
            name="password"
            value={password}
            onChange={({ detail }) => setPassword(detail.value)}
            onKeyDown={({ detail }) => {
              if (detail.key === "Enter" && password) send.mutate(password);
            }}
          />
        </FormField>
      </ConfirmModal>
    </form>
  );
}

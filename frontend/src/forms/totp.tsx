import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Form from "@cloudscape-design/components/form";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import type { TotpBegun } from "../api";
import { ErrorBox } from "../components/error-box";
import { Copy } from "../ui/copy";

interface Props {
  begun: TotpBegun;
  isPending: boolean;
  error: unknown;
  onConfirm: (code: string) => void;
  onCancel: () => void;
}

/** Shows the secret to an authenticator app, and asks for the code that it makes of it. */
export function TotpForm({ begun, isPending, error, onConfirm, onCancel }: Props) {
  const [code, setCode] = useState("");
  const { size, path } = begun.qr;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (code && !isPending) onConfirm(code);
      }}
    >
      <Form
        actions={
          <SpaceBetween direction="horizontal" size="xs">
            <Button variant="link" formAction="none" onClick={onCancel}>
              Cancel
            </Button>
            <Button
              variant="primary"
              formAction="submit"
              loading={isPending}
              loadingText="Checking"
              disabled={!code}
              disabledReason="Enter the code that the app shows."
            >
              Confirm
            </Button>
          </SpaceBetween>
        }
      >
        <SpaceBetween size="m">
          {error !== null && error !== undefined && <ErrorBox error={error} />}
          <Box>Scan this with an authenticator app on your phone, or type the secret into it.</Box>
          <svg
            className="qr-code"
            viewBox={`0 0 ${size} ${size}`}
            role="img"
            aria-label="QR code of the secret"
            shapeRendering="crispEdges"
          >
            <rect width={size} height={size} fill="#ffffff" />
            <path d={path} fill="#000000" />
          </svg>
          <div>
            <Box variant="awsui-key-label">Secret</Box>
            <div className="facts-code">
              <Copy value={begun.secret} label="secret" shown={begun.secret.match(/.{1,4}/g)?.join(" ")} />
            </div>
          </div>
          <FormField label="Code" description="The six digits that the app shows now.">
            <Input
              autoFocus
              autoComplete="one-time-code"
              inputMode="numeric"
              name="code"
              value={code}
              onChange={({ detail }) => setCode(detail.value)}
            />
          </FormField>
        </SpaceBetween>
      </Form>
    </form>
  );
}

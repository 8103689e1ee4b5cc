import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import {
  ApiError,
  beginTotp,
  confirmTotp,
  factorsQuery,
  newRecoveryCodes,
  PASSWORD_NEEDED,
  removeTotp,
  type TotpBegun,
  useSession,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { PasswordAgainModal } from "../components/password-again";
import { QueryView } from "../components/query-view";
import { RecoveryCodesModal } from "../components/recovery-codes";
import { TotpForm } from "../forms/totp";
import { useNow } from "../hooks/use-now";
import { useTitle } from "../hooks/use-title";
import { toast } from "../hooks/use-toasts";

/** The person's own second factor, whichever organisation they are in. */
export function SecondFactorPage() {
  useTitle("Second factor");
  const router = useRouter();
  const { organisation, second_factor_needed } = useSession();
  const factors = useQuery(factorsQuery);
  const now = useNow(30_000);
  const [begun, setBegun] = useState<TotpBegun | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const [wasNeeded, setWasNeeded] = useState(false);
  const [asks, setAsks] = useState<"remove" | "codes" | null>(null);
  // What is done when the password was entered again.
  const [waiting, setWaiting] = useState<(() => void) | null>(null);
  const orPassword = (again: () => void) => (problem: unknown) => {
    if (isForPassword(problem)) setWaiting(() => again);
  };

  const begin = useMutation({
    mutationFn: beginTotp,
    onSuccess: (made) => {
      setBegun(made);
      // When it is confirmed, the session has been asked for again.
      setWasNeeded(second_factor_needed);
    },
    onError: (problem) => orPassword(() => begin.mutate())(problem),
  });
  const confirm = useMutation({
    mutationFn: confirmTotp,
    onSuccess: (shown) => {
      setBegun(null);
      setCodes(shown);
      toast({ type: "success", content: "Second factor set up. Your other sessions were ended." });
    },
    onError: (problem, code) => orPassword(() => confirm.mutate(code))(problem),
  });
  const remove = useMutation({
    mutationFn: removeTotp,
    onSuccess: () => {
      setAsks(null);
      toast({ type: "success", content: "Second factor removed. Your other sessions were ended." });
    },
    onError: (problem) => orPassword(() => remove.mutate())(problem),
  });
  const renew = useMutation({
    mutationFn: newRecoveryCodes,
    onSuccess: (shown) => {
      setAsks(null);
      setCodes(shown);
    },
    onError: (problem) => orPassword(() => renew.mutate())(problem),
  });

  return (
    <SpaceBetween size="l">
      <Header
        variant="h1"
        description="What you have besides your password. You are asked for it at every sign-in, in all organisations."
      >
        Second factor
      </Header>
      {second_factor_needed && (
        <Alert type="warning" statusIconAriaLabel="Warning" header={`${organisation?.name} requires a second factor`}>
          Set one up to go on. API tokens are not affected.
        </Alert>
      )}
      <QueryView query={factors}>
        {({ totp, recovery_codes }) => (
          <SpaceBetween size="l">
            <Container
              header={
                <Header
                  variant="h2"
                  description="An app on your phone that shows a new code every 30 seconds."
                  actions={
                    totp ? (
                      <Button onClick={() => setAsks("remove")}>Remove</Button>
                    ) : (
                      begun === null && (
                        <Button variant="primary" loading={begin.isPending} onClick={() => begin.mutate()}>
                          Set up
                        </Button>
                      )
                    )
                  }
                >
                  Authenticator app
                </Header>
              }
            >
              {begin.isError && !isForPassword(begin.error) && <ErrorBox error={begin.error} />}
              {begun ? (
                <TotpForm
                  begun={begun}
                  isPending={confirm.isPending}
                  error={isForPassword(confirm.error) ? null : confirm.error}
                  onConfirm={(code) => confirm.mutate(code)}
                  onCancel={() => {
                    confirm.reset();
                    setBegun(null);
                  }}
                />
              ) : totp ? (
                <SpaceBetween size="xxs">
                  <StatusIndicator type="success">Set up</StatusIndicator>
                  <Box>
                    Since <Moment at={totp.created_at} now={now} />
                    {totp.last_used_at && (
                      <>
                        , used last <Moment at={totp.last_used_at} now={now} />
                      </>
                    )}
                  </Box>
                </SpaceBetween>
              ) : (
                <StatusIndicator type="stopped">Not set up</StatusIndicator>
              )}
            </Container>
            {recovery_codes && (
              <Container
                header={
                  <Header
                    variant="h2"
                    description="For when the phone is lost. Each is good once."
                    actions={<Button onClick={() => setAsks("codes")}>Make new ones</Button>}
                  >
                    Recovery codes
                  </Header>
                }
              >
                <StatusIndicator type={recovery_codes.unused > 2 ? "success" : "warning"}>
                  {`Unused: ${recovery_codes.unused}`}
                </StatusIndicator>
              </Container>
            )}
          </SpaceBetween>
        )}
      </QueryView>
      {asks === "remove" && waiting === null && (
        <ConfirmModal
          title="Remove the authenticator app?"
          confirm="Remove"
          isPending={remove.isPending}
          error={isForPassword(remove.error) ? null : remove.error}
          onConfirm={() => remove.mutate()}
          onDismiss={() => setAsks(null)}
        >
          <Box>
            Your password alone signs you in then, and your recovery codes end. Organisations that require a second
            factor let you in again when you have set one up.
          </Box>
        </ConfirmModal>
      )}
      {asks === "codes" && waiting === null && (
        <ConfirmModal
          title="Make new recovery codes?"
          confirm="Make new ones"
          isPending={renew.isPending}
          error={isForPassword(renew.error) ? null : renew.error}
          onConfirm={() => renew.mutate()}
          onDismiss={() => setAsks(null)}
        >
          <Box>Those that you have are good for nothing then.</Box>
        </ConfirmModal>
      )}
      {waiting !== null && (
        <PasswordAgainModal
          onDone={() => {
            waiting();
            setWaiting(null);
          }}
          onDismiss={() => setWaiting(null)}
        />
      )}
      {codes && (
        <RecoveryCodesModal
          codes={codes}
          onDone={() => {
            setCodes(null);
            if (wasNeeded) void router.navigate({ to: "/clusters" });
          }}
        />
      )}
    </SpaceBetween>
  );
}

function isForPassword(problem: unknown): boolean {
  return problem instanceof ApiError && problem.code === PASSWORD_NEEDED;
}

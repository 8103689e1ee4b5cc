import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Form from "@cloudscape-design/components/form";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError, identityProvidersQuery, sendSecondStep, signIn } from "../api";
import { Brand } from "../components/brand";
import { ErrorBox } from "../components/error-box";
import { ProviderButtons, ProviderProblem } from "../components/provider-buttons";
import { useTitle } from "../hooks/use-title";
import { StageLayout } from "../layouts/stage-layout";
import { returnPath } from "../util/search";

const route = getRouteApi("/sign-in");

export function SignInPage() {
  useTitle("Sign in");
  const router = useRouter();
  const { return_to, problem, second_step } = route.useSearch();
  const providers = useQuery(identityProvidersQuery());
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [isHalf, setIsHalf] = useState(second_step ?? false);
  const go = () => router.navigate({ href: returnPath(return_to), replace: true });
  const send = useMutation({
    mutationFn: signIn,
    onSuccess: (isAll) => (isAll ? go() : setIsHalf(true)),
  });

  if (isHalf)
    return (
      <StageLayout>
        <Brand />
        <SecondStep
          onDone={go}
          onBack={() => {
            setPassword("");
            setIsHalf(false);
          }}
        />
      </StageLayout>
    );

  return (
    <StageLayout>
      <Brand />
      {problem && !send.isError && <ProviderProblem code={problem} />}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send.mutate({ email, password });
        }}
      >
        <Container header={<Header variant="h1">Sign in</Header>}>
          <Form
            actions={
              <Button
                variant="primary"
                formAction="submit"
                loading={send.isPending}
                loadingText="Signing in"
                disabled={!email || !password}
                disabledReason="Enter e-mail and password."
              >
                Sign in
              </Button>
            }
          >
            <SpaceBetween size="m">
              {send.isError && <ErrorBox error={send.error} />}
              <FormField label="E-mail">
                <Input
                  type="email"
                  inputMode="email"
                  autoFocus
                  autoComplete="username"
                  name="email"
                  value={email}
                  onChange={({ detail }) => setEmail(detail.value)}
                />
              </FormField>
              <FormField label="Password">
                <Input
                  type="password"
                  autoComplete="current-password"
                  name="password"
                  value={password}
                  onChange={({ detail }) => setPassword(detail.value)}
                />
              </FormField>
            </SpaceBetween>
          </Form>
        </Container>
      </form>
      <ProviderButtons providers={providers.data?.items ?? []} returnTo={returnPath(return_to)} />
    </StageLayout>
  );
}

/** After the password, for who has a second factor. */
function SecondStep({ onDone, onBack }: { onDone: () => void; onBack: () => void }) {
  useTitle("Second factor");
  const [code, setCode] = useState("");
  const send = useMutation({ mutationFn: sendSecondStep, onSuccess: onDone, onError: () => setCode("") });
  // The password was sent too long ago, or another tab has ended it.
  const isOver = send.error instanceof ApiError && send.error.status === 401;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (code && !send.isPending) send.mutate(code);
      }}
    >
      <Container header={<Header variant="h1">Second factor</Header>}>
        <Form
          actions={
            <SpaceBetween direction="horizontal" size="xs">
              <Button variant="link" formAction="none" onClick={onBack}>
                Sign in anew
              </Button>
              <Button
                variant="primary"
                formAction="submit"
                loading={send.isPending}
                loadingText="Checking"
                disabled={!code || isOver}
                disabledReason={isOver ? "Sign in anew." : "Enter a code."}
              >
                Continue
              </Button>
            </SpaceBetween>
          }
        >
          <SpaceBetween size="m">
            {send.isError && <ErrorBox error={send.error} />}
            <FormField
              label="Code"
              description="Of your authenticator app: six digits. Or one of your recovery codes: eight digits, each good once."
            >
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
      </Container>
    </form>
  );
}

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
import { identityProvidersQuery, signIn } from "../api";
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
  const { return_to, problem } = route.useSearch();
  const providers = useQuery(identityProvidersQuery());
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const send = useMutation({
    mutationFn: signIn,
    onSuccess: () => router.navigate({ href: returnPath(return_to), replace: true }),
  });

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

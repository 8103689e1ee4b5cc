import Wizard from "@cloudscape-design/components/wizard";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useState } from "react";
import {
  type Catalog,
  catalogQuery,
  checkClusterOrderMutation,
  createClusterMutation,
  IdempotencyKeys,
  refresh,
  toApiError,
} from "../api";
import { ErrorBox } from "../components/error-box";
import { QueryView } from "../components/query-view";
import { useTitle } from "../hooks/use-title";
import { type Complaints, complaintsAt, type Draft, prefilled, REVIEW, toOrder } from "../util/order";
import { ReviewStep } from "./cluster-order-review";
import { EngineStep, MachineStep, NameStep, PlaceStep } from "./cluster-order-steps";

const route = getRouteApi("/console/clusters/new");

export function ClusterOrderPage() {
  useTitle("Order cluster");
  const catalog = useQuery(catalogQuery());
  return (
    <QueryView query={catalog} lines={9} title="Order cluster">
      {(data) => <OrderWizard catalog={data} />}
    </QueryView>
  );
}

const NO_COMPLAINTS: Complaints = { step: null, fields: {}, error: null };

function OrderWizard({ catalog }: { catalog: Catalog }) {
  const router = useRouter();
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const [draft, setDraft] = useState(() => prefilled(catalog, search));
  const [load, setLoad] = useState(() => ({
    reads: typed(search.reads),
    writes: typed(search.writes),
    row: typed(search.row),
  }));
  // How far the API has agreed: an address may not lead past it.
  const [reached, setReached] = useState(0);
  const [complaints, setComplaints] = useState(NO_COMPLAINTS);
  const [keys] = useState(() => new IdempotencyKeys());
  const step = Math.max(0, Math.min((search.step ?? 1) - 1, reached, REVIEW));

  const check = useMutation(checkClusterOrderMutation());
  const order = useMutation(createClusterMutation());

  const change = (changes: Partial<Draft>) => {
    setDraft((before) => ({ ...before, ...changes }));
    setComplaints(NO_COMPLAINTS);
  };
  const goTo = (index: number) => {
    order.reset();
    void navigate({ search: (before) => ({ ...before, step: index + 1 }) });
  };

  /** Asks the API about everything entered up to `step`; says whether to go on. */
  async function isAccepted(): Promise<boolean> {
    try {
      await check.mutateAsync({ body: toOrder(draft, step) });
    } catch (problem) {
      return !complain(problem);
    }
    setComplaints(NO_COMPLAINTS);
    return true;
  }

  function complain(problem: unknown): boolean {
    const found = complaintsAt(toApiError(problem, undefined), step);
    setComplaints(found);
    if (found.step !== null && found.step !== step) goTo(found.step);
    return found.step !== null;
  }

  async function next(requested: number): Promise<void> {
    if (requested <= step) return goTo(requested);
    if (!(await isAccepted())) return;
    setReached((before) => Math.max(before, step + 1));
    goTo(step + 1);
  }

  async function submit(): Promise<void> {
    const body = toOrder(draft, REVIEW);
    try {
      const { cluster } = await order.mutateAsync({ body, headers: { "Idempotency-Key": keys.keyFor(body) } });
      keys.answered();
      void refresh();
      await router.navigate({ to: "/clusters/$clusterId", params: { clusterId: cluster.id } });
    } catch (problem) {
      // Without an answer nobody knows whether it was ordered: the key stays, so that ordering again orders once.
      if (toApiError(problem, undefined).status !== 0) keys.answered();
      complain(problem);
    }
  }

  const props = { catalog, draft, fields: complaints.fields, change };
  const errorText = complaints.error && <ErrorBox error={complaints.error} />;
  return (
    <Wizard
      activeStepIndex={step}
      isLoadingNextStep={check.isPending || order.isPending}
      submitButtonText="Order cluster"
      onNavigate={({ detail }) => void next(detail.requestedStepIndex)}
      onCancel={() => void router.navigate({ to: "/clusters" })}
      onSubmit={() => void submit()}
      i18nStrings={{
        stepNumberLabel: (number) => `Step ${number}`,
        collapsedStepsLabel: (number, total) => `Step ${number} of ${total}`,
        navigationAriaLabel: "Steps",
        cancelButton: "Cancel",
        previousButton: "Previous",
        nextButton: "Next",
        optional: "optional",
        nextButtonLoadingAnnouncement: "Checking",
        submitButtonLoadingAnnouncement: "Ordering",
      }}
      steps={[
        { title: "Engine", content: <Step error={errorText} shown={<EngineStep {...props} />} /> },
        { title: "Place", content: <Step error={errorText} shown={<PlaceStep {...props} />} /> },
        { title: "Machines", content: <Step error={errorText} shown={<MachineStep {...props} />} /> },
        { title: "Name and options", content: <Step error={errorText} shown={<NameStep {...props} />} /> },
        {
          title: "Review",
          content: (
            <Step
              error={errorText}
              shown={<ReviewStep {...props} check={check.data} load={load} onLoad={setLoad} onEdit={goTo} />}
            />
          ),
        },
      ]}
    />
  );
}

function typed(number: number | undefined): string {
  return number === undefined ? "" : String(number);
}

function Step({ error, shown }: { error: React.ReactNode; shown: React.ReactNode }) {
  return (
    <>
      {error}
      {shown}
    </>
  );
}

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Popover from "@cloudscape-design/components/popover";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import {
  accessSettingsQuery,
  type Invitation,
  invitationsQuery,
  type Member,
  membersQuery,
  refresh,
  removeMemberMutation,
  resetMemberSecondFactorMutation,
  revokeInvitationMutation,
  useMay,
  useSession,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { MemberSessionsModal } from "../components/member-sessions";
import { Moment } from "../components/moment";
import { QueryView } from "../components/query-view";
import { roleName } from "../components/roles";
import { RowButton } from "../components/row-button";
import { RowMenu } from "../components/row-menu";
import { SecretModal } from "../components/secret-modal";
import { InvitationCreateModal } from "../forms/invitation-create";
import { MemberRoleModal } from "../forms/member-role";
import { SecondFactorRequiredModal } from "../forms/second-factor-required";
import { useTitle } from "../hooks/use-title";
import { toast } from "../hooks/use-toasts";
import { CursorTable } from "../table/cursor-table";
import { reasonAgainst } from "../util/allowed";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/members");

type MemberAction = "change_member_role" | "sessions" | "reset_member_second_factor" | "remove_member";

const ANY = { value: "", label: "All members" };
const STATES = [ANY, { value: "true", label: "Active" }, { value: "false", label: "Deactivated" }];

export function MembersPage() {
  useTitle("Members");
  const navigate = route.useNavigate();
  const { active, after } = route.useSearch();
  const members = useQuery(membersQuery(active, lastCursor(after)));
  const { user } = useSession();
  const mayInvite = useMay("members:write");
  const [isInviting, setIsInviting] = useState(false);
  const [link, setLink] = useState<string | null>(null);
  const [changing, setChanging] = useState<Member | null>(null);
  const [removing, setRemoving] = useState<Member | null>(null);
  const [watching, setWatching] = useState<Member | null>(null);
  const [resetting, setResetting] = useState<Member | null>(null);
  const [isSetting, setIsSetting] = useState(false);
  const settings = useQuery(accessSettingsQuery());
  const isRequired = settings.data?.second_factor_required ?? false;

  return (
    <SpaceBetween size="l">
      <CursorTable
        noun="members"
        page={members}
        columns={columns(user?.id, mayInvite, {
          change_member_role: setChanging,
          sessions: setWatching,
          reset_member_second_factor: setResetting,
          remove_member: setRemoving,
        })}
        cursors={after}
        onCursors={(cursors) => void navigate({ search: { active, after: cursors } })}
        filter={
          <Select
            ariaLabel="Filter by state"
            selectedOption={STATES.find(({ value }) => value === String(active)) ?? ANY}
            options={STATES}
            onChange={({ detail: { selectedOption } }) =>
              void navigate({
                search: { active: selectedOption.value === "" ? undefined : selectedOption.value === "true" },
                replace: true,
              })
            }
          />
        }
        header={
          <Header
            variant="h1"
            description={
              isRequired ? "Who signs in without a second factor sees nothing of the organisation." : undefined
            }
            actions={
              <SpaceBetween direction="horizontal" size="xs">
                <Button
                  disabled={!mayInvite || !settings.data}
                  disabledReason={mayInvite ? undefined : "Your role may not change settings of the organisation."}
                  onClick={() => setIsSetting(true)}
                >
                  {isRequired ? "Do not require a second factor" : "Require a second factor"}
                </Button>
                <Button
                  variant="primary"
                  disabled={!mayInvite}
                  disabledReason={mayInvite ? undefined : "Your role may not invite people."}
                  onClick={() => setIsInviting(true)}
                >
                  Invite member
                </Button>
              </SpaceBetween>
            }
          >
            Members
          </Header>
        }
        empty={<Box color="inherit">{active === false ? "Nobody is deactivated." : "No members."}</Box>}
      />
      <OpenInvitations />
      {isInviting && (
        <InvitationCreateModal
          onDismiss={() => setIsInviting(false)}
          onCreated={(url) => {
            setIsInviting(false);
            setLink(url);
          }}
        />
      )}
      {link !== null && (
        <SecretModal
          title="Invitation created"
          label="invitation link"
          secret={link}
          hint="Send this link to the person you invite. It is not shown again."
          onDone={() => setLink(null)}
        />
      )}
      {changing && <MemberRoleModal member={changing} onDismiss={() => setChanging(null)} />}
      {watching && <MemberSessionsModal member={watching} onDismiss={() => setWatching(null)} />}
      {resetting && <ResetModal member={resetting} onDismiss={() => setResetting(null)} />}
      {isSetting && settings.data && (
        <SecondFactorRequiredModal settings={settings.data} onDismiss={() => setIsSetting(false)} />
      )}
      {removing && <RemoveModal member={removing} onDismiss={() => setRemoving(null)} />}
    </SpaceBetween>
  );
}

function columns(
  ownId: string | undefined,
  maySeeSessions: boolean,
  chosen: Record<MemberAction, (member: Member) => void>,
): TableProps.ColumnDefinition<Member>[] {
  return [
    {
      id: "email",
      header: "E-mail",
      isRowHeader: true,
      cell: ({ email, user_id, active }) => (
        <>
          {user_id === ownId ? `${email} (you)` : email}
          {!active && (
            <Box fontSize="body-s">
              <Popover
                triggerType="text"
                header="Deactivated by a directory"
                content={
                  "They sign in nowhere and their API tokens are refused. The account comes back when the directory of " +
                  "their identity provider activates it; whoever runs this installation can also unlink it: manage.py " +
                  "identity_provider unlink."
                }
                dismissAriaLabel="Close"
              >
                <StatusIndicator type="stopped">Deactivated</StatusIndicator>
              </Popover>
            </Box>
          )}
        </>
      ),
    },
    { id: "name", header: "Name", cell: ({ name }) => name || "–" },
    { id: "role", header: "Role", cell: (row) => roleName(row) },
    {
      id: "source",
      header: "By",
      cell: ({ identity_provider }) => (identity_provider ? `Groups of ${identity_provider.name}` : "Invitation"),
    },
    {
      id: "second-factor",
      header: "Second factor",
      cell: ({ second_factor }) => (second_factor ? "Set up" : "–"),
    },
    { id: "since", header: "Member since", cell: ({ created_at }) => <Moment at={created_at} /> },
    {
      id: "actions",
      header: "Actions",
      cell: (member) => (
        <RowMenu
          name={member.email}
          items={[
            ruled("change_member_role", "Change role …", member),
            {
              id: "sessions",
              text: "Sessions …",
              reason: maySeeSessions ? undefined : "Your role may not see where members are signed in.",
            },
            ruled("reset_member_second_factor", "Reset factor …", member),
            ruled("remove_member", "Remove …", member),
          ]}
          onAction={(id) => chosen[id](member)}
        />
      ),
    },
  ];
}

function ruled<Id extends MemberAction>(id: Id, text: string, member: Member) {
  return { id, text, reason: reasonAgainst(id, member.allowed_actions) };
}

function RemoveModal({ member, onDismiss }: { member: Member; onDismiss: () => void }) {
  const remove = useMutation({
    ...removeMemberMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: `${member.email} removed.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Remove ${member.email}?`}
      confirm="Remove"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ path: { member_id: member.id } })}
      onDismiss={onDismiss}
    >
      <Box>They lose access at once, and their API tokens are revoked. Clusters they ordered stay.</Box>
    </ConfirmModal>
  );
}

function ResetModal({ member, onDismiss }: { member: Member; onDismiss: () => void }) {
  const reset = useMutation({
    ...resetMemberSecondFactorMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: `${member.email} signs in with the password alone now.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Reset the second factor of ${member.email}?`}
      confirm="Reset"
      isPending={reset.isPending}
      error={reset.error}
      onConfirm={() => reset.mutate({ path: { member_id: member.id } })}
      onDismiss={onDismiss}
    >
      <Box>
        For who lost theirs: make sure that it is they who ask. They are signed out everywhere, and sign in with the
        password alone until they set up a new one.
      </Box>
    </ConfirmModal>
  );
}

function OpenInvitations() {
  const invitations = useQuery(invitationsQuery());
  const [revoking, setRevoking] = useState<Invitation | null>(null);
  const revoke = useMutation({
    ...revokeInvitationMutation(),
    onSuccess: () => {
      setRevoking(null);
      toast({ type: "success", content: "Invitation revoked." });
      return refresh();
    },
  });
  return (
    <>
      <QueryView query={invitations}>
        {({ items }) => (
          <Table
            variant="container"
            trackBy="id"
            wrapLines
            items={items.filter(({ state }) => state === "open")}
            ariaLabels={{ tableLabel: "Open invitations" }}
            header={<Header variant="h2">Open invitations</Header>}
            empty={<Box color="inherit">No open invitations.</Box>}
            columnDefinitions={[
              { id: "email", header: "E-mail", isRowHeader: true, cell: ({ email }) => email },
              { id: "role", header: "Role", cell: (row) => roleName(row) },
              { id: "by", header: "Invited by", cell: ({ created_by }) => created_by ?? "–" },
              { id: "expires", header: "Expires", cell: ({ expires_at }) => <Moment at={expires_at} /> },
              {
                id: "actions",
                header: "Actions",
                cell: (invitation) => (
                  <RowButton
                    action="revoke_invitation"
                    allowed={invitation.allowed_actions}
                    ariaLabel={`Revoke invitation of ${invitation.email}`}
                    onClick={() => setRevoking(invitation)}
                  >
                    Revoke
                  </RowButton>
                ),
              },
            ]}
          />
        )}
      </QueryView>
      {revoking && (
        <ConfirmModal
          title={`Revoke the invitation of ${revoking.email}?`}
          confirm="Revoke"
          isPending={revoke.isPending}
          error={revoke.error}
          onConfirm={() => revoke.mutate({ path: { invitation_id: revoking.id } })}
          onDismiss={() => setRevoking(null)}
        >
          <Box>The link stops working at once.</Box>
        </ConfirmModal>
      )}
    </>
  );
}

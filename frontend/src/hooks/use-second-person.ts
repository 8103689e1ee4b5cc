import { useQuery } from "@tanstack/react-query";
import { accessSettingsQuery, type DeletionRequest, openDeletionRequestQuery } from "../api";

interface SecondPerson {
  isPending: boolean;
  /** Somebody else has to confirm the delete first. */
  isMissing: boolean;
  /** What was asked for, if it was. */
  request: DeletionRequest | undefined;
}

/** What a delete still needs, where the organisation wants two people for it. */
export function useSecondPerson(targetId: string): SecondPerson {
  const settings = useQuery(accessSettingsQuery());
  const isWanted = settings.data?.deletes_need_two ?? false;
  const open = useQuery({ ...openDeletionRequestQuery(targetId), enabled: isWanted });
  const request = isWanted ? open.data?.items[0] : undefined;
  return {
    isPending: settings.isPending || (isWanted && open.isPending),
    isMissing: isWanted && request?.state !== "confirmed",
    request,
  };
}

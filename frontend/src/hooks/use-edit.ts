import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { ChangedMeanwhile, type Editable, saveUnlessChanged } from "../api";

/**
 * Saves a form so that nobody's work is overwritten unseen. `opened`: the thing that the form's fields were filled from,
 * when it appeared; `edited`: what of it the form edits. `changed`: what it is now, after somebody else saved it.
 */
export function useEdit<Thing, Body>({
  editable,
  opened: openedWith,
  edited,
  onSuccess,
}: {
  editable: Editable<Thing, Body>;
  opened: Thing;
  edited: (thing: Thing) => unknown;
  onSuccess: () => Promise<void>;
}) {
  const [opened, setOpened] = useState(openedWith);
  const [loads, setLoads] = useState(0);
  const { mutate, reset, error, isPending } = useMutation({
    mutationFn: (wish: { body: Body; opened: Thing }) => saveUnlessChanged(editable, { ...wish, edited }),
    onSuccess: (thing) => {
      setOpened(thing);
      return onSuccess();
    },
  });
  const changed = error instanceof ChangedMeanwhile ? (error.now as Thing) : undefined;
  return {
    opened,
    changed,
    isPending,
    error: changed === undefined ? error : null,
    save: (body: Body) => mutate({ body, opened }),
    /** Over what it is now, as it was shown; what comes after that is asked about again. */
    saveOver: (body: Body) => mutate({ body, opened: changed ?? opened }),
    /** `opened` becomes what it is now. A form with `loads` as its key is filled from it anew; others fill themselves. */
    loads,
    load: () => {
      if (changed === undefined) return;
      setOpened(changed);
      setLoads(loads + 1);
      reset();
    },
  };
}

export type Edit<Thing, Body> = ReturnType<typeof useEdit<Thing, Body>>;

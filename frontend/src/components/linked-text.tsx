import { Fragment } from "react";
import { RouteLink } from "./route-link";

const OPERATION = /(op_[0-9a-z]{26})/;

/** A sentence of the API's in which ids of operations lead to them. */
export function LinkedText({ text }: { text: string }) {
  return text.split(OPERATION).map((part, index) =>
    OPERATION.test(part) ? (
      <RouteLink key={part} to="/operations/$operationId" params={{ operationId: part }}>
        {part}
      </RouteLink>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
      <Fragment key={index}>{part}</Fragment>
    ),
  );
}

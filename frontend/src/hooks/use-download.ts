import { useMutation } from "@tanstack/react-query";
import { toApiError } from "../api";
import { saveAs } from "../util/download";
import { toast } from "./use-toasts";

/** Fetches a file from the API and gives it to the browser to save; a toast says why where it cannot. */
export function useDownload(fetchFile: () => Promise<Blob>, filename: string) {
  return useMutation({
    mutationFn: fetchFile,
    onSuccess: (content) => saveAs(filename, content),
    onError: (problem) => sayFailed(filename, problem),
  });
}

/** The same for one of many files, whose name is known when it is asked for. */
export async function download(filename: string, fetched: Promise<Blob>): Promise<void> {
  try {
    saveAs(filename, await fetched);
  } catch (problem) {
    sayFailed(filename, problem);
  }
}

function sayFailed(filename: string, problem: unknown): void {
  toast({
    type: "error",
    header: `Could not download ${filename}`,
    content: toApiError(problem, undefined).message,
  });
}

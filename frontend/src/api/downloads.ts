import { downloadCa, downloadConnectionBundle } from "./__generated__/sdk.gen";

// Not plain links: a link cannot carry the header that says which organisation is meant.

export async function fetchBundle(clusterId: string): Promise<Blob> {
  const { data } = await downloadConnectionBundle({
    path: { cluster_id: clusterId },
    parseAs: "blob",
    throwOnError: true,
  });
  return data as unknown as Blob;
}

export async function fetchCa(clusterId: string): Promise<Blob> {
  const { data } = await downloadCa({ path: { cluster_id: clusterId }, parseAs: "blob", throwOnError: true });
  return data as unknown as Blob;
}

import Box from "@cloudscape-design/components/box";

export function Brand() {
  return (
    <div className="stage-logo">
      <img src="/favicon.svg" alt="" />
      <Box variant="strong" fontSize="heading-xl">
        Ringmaster
      </Box>
    </div>
  );
}

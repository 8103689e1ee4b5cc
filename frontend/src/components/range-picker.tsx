import Button from "@cloudscape-design/components/button";
import SegmentedControl from "@cloudscape-design/components/segmented-control";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { fullTime } from "../util/chart-data";
import { RANGE_OPTIONS, type RangeSearch, type RangeWord, type ShownTime } from "../util/metric-range";

/** The time that charts show; `onChange` gets what the address has to say then. */
export function RangePicker({ time, onChange }: { time: ShownTime; onChange: (next: RangeSearch) => void }) {
  return (
    <SpaceBetween direction="horizontal" size="xs" alignItems="center">
      {time.zoom && (
        <Button iconName="close" onClick={() => onChange({ range: time.word })}>
          {fullTime(time.zoom[0])} – {fullTime(time.zoom[1])}
        </Button>
      )}
      <SegmentedControl
        label="Time range"
        selectedId={time.zoom ? null : time.word}
        options={RANGE_OPTIONS}
        onChange={({ detail }) => onChange({ range: detail.selectedId as RangeWord })}
      />
    </SpaceBetween>
  );
}

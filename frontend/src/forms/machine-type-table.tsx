import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import Pagination from "@cloudscape-design/components/pagination";
import Popover from "@cloudscape-design/components/popover";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import Table, { type TableProps } from "@cloudscape-design/components/table";
import TextFilter from "@cloudscape-design/components/text-filter";
import { type ReactNode, useState } from "react";
import type { Capacity, CatalogMachineType } from "../api";
import { CapacityNote, Fits } from "../components/capacity";
import {
  familiesOf,
  findTypes,
  formatBandwidth,
  formatIops,
  formatNetwork,
  formatNvme,
  formatPrice,
  ioSource,
  type SortKey,
  sortTypes,
} from "../util/machine-types";
import { count, formatMib } from "../util/size";

const PAGE = 20;
const ALL = { value: "", label: "All families" };

interface Props {
  types: readonly CatalogMachineType[];
  /** The chosen type's name; empty: none yet. */
  value: string;
  description?: string;
  /** What is wrong with the choice. */
  errorText?: string;
  /** What the cloud has room for; nothing: it is not one, or has not been asked yet. */
  capacity?: Capacity;
  onChange: (name: string) => void;
}

/**
 * One machine type out of many, with the figures that tell them apart. Not for inside a form field: that would give its
 * label to the filters as well.
 */
export function MachineTypeTable({ types, value, description, errorText, capacity, onChange }: Props) {
  const [text, setText] = useState("");
  const [family, setFamily] = useState("");
  const [page, setPage] = useState(1);
  const [sorting, setSorting] = useState<{ key: SortKey; isDescending: boolean }>({ key: "type", isDescending: false });
  const found = sortTypes(findTypes(types, text, family), sorting.key, sorting.isDescending);
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  const current = Math.min(page, pages);
  const families = [ALL, ...familiesOf(types).map((each) => ({ value: each, label: each }))];
  const clear = () => {
    setText("");
    setFamily("");
    setPage(1);
  };
  return (
    <Table
      variant="borderless"
      trackBy="name"
      wrapLines
      stickyColumns={{ first: 1 }}
      selectionType="single"
      selectedItems={types.filter(({ name }) => name === value)}
      onSelectionChange={({ detail }) => {
        const [chosen] = detail.selectedItems;
        if (chosen) onChange(chosen.name);
      }}
      items={found.slice((current - 1) * PAGE, current * PAGE)}
      columnDefinitions={capacity?.answered_at ? withRoom(capacity) : COLUMNS}
      sortingColumn={COLUMNS.find(({ id }) => id === sorting.key)}
      sortingDescending={sorting.isDescending}
      onSortingChange={({ detail }) => {
        const column = COLUMNS.find(({ sortingField }) => sortingField === detail.sortingColumn.sortingField);
        setSorting({ key: (column?.id ?? "type") as SortKey, isDescending: detail.isDescending ?? false });
        setPage(1);
      }}
      ariaLabels={{
        tableLabel: "Machine types",
        selectionGroupLabel: "Machine type",
        itemSelectionLabel: (_, { name }) => name,
      }}
      header={
        <Header variant="h3" description={description}>
          Machine type
          {value && `: ${value}`}
        </Header>
      }
      filter={
        <SpaceBetween size="xs" direction="horizontal">
          <TextFilter
            filteringText={text}
            filteringPlaceholder="Find by name, family or architecture"
            filteringAriaLabel="Find machine types"
            filteringClearAriaLabel="Clear"
            countText={text || family ? count(found.length, "machine type") : ""}
            onChange={({ detail }) => {
              setText(detail.filteringText);
              setPage(1);
            }}
          />
          <Select
            ariaLabel="Family"
            selectedOption={families.find((option) => option.value === family) ?? ALL}
            options={families}
            onChange={({ detail }) => {
              setFamily(detail.selectedOption.value ?? "");
              setPage(1);
            }}
          />
        </SpaceBetween>
      }
      pagination={
        <Pagination
          currentPageIndex={current}
          pagesCount={pages}
          onChange={({ detail }) => setPage(detail.currentPageIndex)}
          ariaLabels={{
            nextPageLabel: "Next page",
            previousPageLabel: "Previous page",
            pageLabel: (number) => `Page ${number}`,
          }}
        />
      }
      empty={
        <SpaceBetween size="xs">
          <Box color="inherit">No machine type matches.</Box>
          <Button onClick={clear}>Clear filters</Button>
        </SpaceBetween>
      }
      footer={
        <SpaceBetween size="xs">
          {errorText && <StatusIndicator type="error">{errorText}</StatusIndicator>}
          {capacity && <CapacityNote capacity={capacity} />}
          <PriceNote types={types} />
        </SpaceBetween>
      }
    />
  );
}

const COLUMNS: TableProps.ColumnDefinition<CatalogMachineType>[] = [
  {
    id: "type",
    header: "Type",
    sortingField: "type",
    isRowHeader: true,
    minWidth: 150,
    cell: ({ name, architecture }) => <Lines first={name} second={architecture} />,
  },
  { id: "vcpus", header: "vCPU", sortingField: "vcpus", minWidth: 105, cell: ({ vcpus }) => vcpus ?? "–" },
  {
    id: "memory",
    header: "Memory",
    sortingField: "memory",
    minWidth: 125,
    cell: ({ memory_mib }) => formatMib(memory_mib),
  },
  { id: "nvme", header: "Local NVMe", sortingField: "nvme", minWidth: 120, cell: formatNvme },
  // Not sortable: a header that sorts is a button, and one button cannot hold another.
  { id: "shards", header: <ShardsHelp />, minWidth: 90, cell: ({ shards }) => shards ?? "–" },
  {
    id: "iops",
    header: "Read, write IOPS",
    sortingField: "iops",
    minWidth: 150,
    cell: (type) => (
      <Lines
        first={type.io ? `${formatIops(type.io.read_iops)}, ${formatIops(type.io.write_iops)}` : "–"}
        second={ioSource(type)}
      />
    ),
  },
  {
    id: "bandwidth",
    header: "Read, write bandwidth",
    sortingField: "bandwidth",
    minWidth: 150,
    cell: ({ io }) => (io ? `${formatBandwidth(io.read_bandwidth)}, ${formatBandwidth(io.write_bandwidth)}` : "–"),
  },
  { id: "network", header: "Network", sortingField: "network", minWidth: 130, cell: formatNetwork },
  { id: "price", header: "Per hour", sortingField: "price", minWidth: 110, cell: formatPrice },
];

/** Room is what one looks for first, so it stands beside the name. */
function withRoom(capacity: Capacity): TableProps.ColumnDefinition<CatalogMachineType>[] {
  const [type, ...others] = COLUMNS;
  const room = {
    id: "room",
    header: "Room for",
    minWidth: 110,
    cell: ({ name }: CatalogMachineType) => <Fits capacity={capacity} machineType={name} />,
  };
  return type ? [type, room, ...others] : [room];
}

function Lines({ first, second }: { first: string; second: string }): ReactNode {
  return (
    <>
      <div>{first}</div>
      {second !== first && (
        <Box variant="small" color="text-body-secondary">
          {second}
        </Box>
      )}
    </>
  );
}

function ShardsHelp() {
  return (
    <Popover
      triggerType="text"
      header="Shards"
      dismissAriaLabel="Close"
      content="CPUs left for the engine after some are set aside for the network's and the disks' interrupts. An engine that works in shards has one per CPU and gives each its share of memory and data. The number is worked out from the type; the machine tells at its first boot."
    >
      Shards
    </Popover>
  );
}

function PriceNote({ types }: { types: readonly CatalogMachineType[] }) {
  const price = types.find((type) => type.price !== null)?.price;
  if (!price) return null;
  return (
    <Box variant="small" color="text-body-secondary">
      Disk figures are for all local disks together. Prices are on demand in {price.region} on {price.date}, local disks
      included; other regions differ.
    </Box>
  );
}

import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Toggle from "@cloudscape-design/components/toggle";
import TreeView from "@cloudscape-design/components/tree-view";
import { useState } from "react";
import type { CqlSchemaKeyspace, CqlSchemaTable, CqlSchemaTree } from "../api";
import { cqlName, selectOf } from "../util/cql";

interface Item {
  id: string;
  text: string;
  detail?: string;
  children?: Item[];
  /** What its button puts into the editor, and what the button is called. */
  insert?: { label: string; text: string };
  /** What describes it. */
  describe?: string;
}

interface Props {
  tree: CqlSchemaTree;
  onInsert: (text: string) => void;
  onDescribe: (statement: string) => void;
}

/** Everything there is in the database: keyspaces, and what is in them. */
export function CqlSchema({ tree, onInsert, onDescribe }: Props) {
  const [search, setSearch] = useState("");
  const [withSystem, setWithSystem] = useState(false);
  const [expanded, setExpanded] = useState<readonly string[]>([]);
  const wanted = search.trim().toLowerCase();
  const items = tree.keyspaces
    .filter(({ system }) => withSystem || !system)
    .map((keyspace) => keyspaceItem(keyspace, wanted))
    .filter(
      ({ text, children }) => wanted === "" || (children?.length ?? 0) > 0 || text.toLowerCase().includes(wanted),
    );
  return (
    <SpaceBetween size="s">
      <Input
        type="search"
        placeholder="Find a table or column"
        ariaLabel="Find a table or column"
        value={search}
        onChange={({ detail }) => setSearch(detail.value)}
      />
      <Toggle checked={withSystem} onChange={({ detail }) => setWithSystem(detail.checked)}>
        The engine's own
      </Toggle>
      {items.length === 0 ? (
        <Box color="text-body-secondary">{wanted ? "Nothing is called so." : "There is no keyspace yet."}</Box>
      ) : (
        <div className="cql-tree">
          <TreeView<Item>
            ariaLabel="Schema"
            items={items}
            getItemId={({ id }) => id}
            getItemChildren={({ children }) => children}
            expandedItems={wanted ? items.map(({ id }) => id).concat(expanded) : expanded}
            onItemToggle={({ detail }) =>
              setExpanded((before) =>
                detail.expanded ? [...before, detail.id] : before.filter((id) => id !== detail.id),
              )
            }
            renderItem={(item) => ({
              content: (
                <>
                  {item.text} {item.detail && <Box variant="small">{item.detail}</Box>}
                </>
              ),
              actions: (item.insert || item.describe) && (
                <SpaceBetween direction="horizontal" size="xxs">
                  {item.insert && (
                    <Button
                      variant="inline-icon"
                      iconName="edit"
                      ariaLabel={item.insert.label}
                      onClick={() => onInsert(item.insert?.text ?? "")}
                    />
                  )}
                  {item.describe && (
                    <Button
                      variant="inline-icon"
                      iconName="file"
                      ariaLabel={`Describe ${item.text}`}
                      onClick={() => onDescribe(item.describe ?? "")}
                    />
                  )}
                </SpaceBetween>
              ),
            })}
          />
        </div>
      )}
      {tree.left > 0 && <Box variant="small">{tree.left} columns are not shown: there are too many.</Box>}
    </SpaceBetween>
  );
}

function keyspaceItem(keyspace: CqlSchemaKeyspace, wanted: string): Item {
  const name = cqlName(keyspace.name);
  const { class: strategy, ...factors } = keyspace.replication;
  const tables = keyspace.tables
    .filter((table) => isWanted(table, wanted) || keyspace.name.toLowerCase().includes(wanted))
    .map((table) => tableItem(keyspace.name, table));
  const types = keyspace.types.map((type) => ({
    id: `${keyspace.name} type ${type.name}`,
    text: type.name,
    detail: "type",
    describe: `DESCRIBE TYPE ${name}.${cqlName(type.name)}`,
    children: type.fields.map((field) => ({
      id: `${keyspace.name} type ${type.name} ${field.name}`,
      text: field.name,
      detail: field.type,
    })),
  }));
  const functions = keyspace.functions.map((one) => ({
    id: `${keyspace.name} function ${one.name}(${one.arguments.join(",")})`,
    text: `${one.name}(${one.arguments.join(", ")})`,
    detail: `${one.aggregate ? "aggregate" : "function"}, gives ${one.returns}`,
    describe: `DESCRIBE ${one.aggregate ? "AGGREGATE" : "FUNCTION"} ${name}.${cqlName(one.name)}`,
  }));
  return {
    id: keyspace.name,
    text: keyspace.name,
    detail: [strategy?.split(".").at(-1), ...Object.entries(factors).map(([key, value]) => `${key} ${value}`)]
      .filter(Boolean)
      .join(", "),
    describe: `DESCRIBE KEYSPACE ${name}`,
    children: wanted ? tables : [...tables, ...types, ...functions],
  };
}

function isWanted(table: CqlSchemaTable, wanted: string): boolean {
  return (
    table.name.toLowerCase().includes(wanted) || table.columns.some(({ name }) => name.toLowerCase().includes(wanted))
  );
}

const KINDS = { partition_key: "partition key", clustering: "clustering", static: "static", regular: "" };

function tableItem(keyspace: string, table: CqlSchemaTable): Item {
  const id = `${keyspace}.${table.name}`;
  const full = `${cqlName(keyspace)}.${cqlName(table.name)}`;
  const isView = table.view_of !== "";
  return {
    id,
    text: table.name,
    detail: isView ? `view of ${table.view_of}` : undefined,
    insert: { label: `Write a SELECT from ${table.name}`, text: selectOf(keyspace, table) },
    describe: `DESCRIBE ${isView ? "MATERIALIZED VIEW" : "TABLE"} ${full}`,
    children: [
      ...table.columns.map(({ name, type, kind, order }) => ({
        id: `${id}.${name}`,
        text: name,
        detail: [type, KINDS[kind], order === "desc" ? "descending" : ""].filter(Boolean).join(", "),
      })),
      ...table.indexes.map(({ name, target, using }) => ({
        id: `${id} index ${name}`,
        text: name,
        detail: `index of ${target}${using ? `, ${using.split(".").at(-1)}` : ""}`,
      })),
    ],
  };
}

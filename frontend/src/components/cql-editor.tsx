import { acceptCompletion, autocompletion, closeBrackets } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { Cassandra, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useEffectEvent, useImperativeHandle, useRef } from "react";
import type { CqlSchemaTree } from "../api";
import { completions } from "../util/cql";

export interface CqlEditorHandle {
  /** What is to be run: the selected part, or all. */
  chosen: () => string;
  /** Takes the place of everything. */
  write: (text: string) => void;
  /** Puts the cursor where the engine found fault with what was run: a line from 1, a column from 0. */
  show: (line: number, column: number) => void;
}

interface Props {
  ref: React.Ref<CqlEditorHandle>;
  initial: string;
  tree: CqlSchemaTree | null;
  keyspace: string | null;
  onRun: () => void;
  onChange: (text: string) => void;
}

const colours = HighlightStyle.define([
  { tag: tags.keyword, class: "cql-keyword" },
  { tag: [tags.string, tags.special(tags.string)], class: "cql-string" },
  { tag: [tags.number, tags.bool, tags.null], class: "cql-number" },
  { tag: tags.comment, class: "cql-comment" },
  { tag: [tags.typeName, tags.standard(tags.name)], class: "cql-type" },
]);

/** A text of CQL with colours and completion. Escape and then Tab leaves it; Ctrl or Cmd and Enter runs. */
export function CqlEditor({ ref, initial, tree, keyspace, onRun, onChange }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const language = useRef(new Compartment());
  const run = useEffectEvent(onRun);
  const changed = useEffectEvent(onChange);
  const first = useRef(initial);
  useEffect(() => {
    if (place.current === null) return;
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          Prec.highest(
            keymap.of([
              {
                key: "Mod-Enter",
                run: () => {
                  run();
                  return true;
                },
              },
            ]),
          ),
          lineNumbers(),
          history(),
          bracketMatching(),
          closeBrackets(),
          autocompletion(),
          keymap.of([{ key: "Tab", run: acceptCompletion }, ...defaultKeymap, ...historyKeymap]),
          syntaxHighlighting(colours),
          placeholder("SELECT … FROM …"),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "CQL", spellcheck: "false" }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) changed(state.doc.toString());
          }),
          language.current.of(sql({ dialect: Cassandra })),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);
  useEffect(() => {
    const schema = completions(tree);
    const spoken = sql({
      dialect: Cassandra,
      schema,
      upperCaseKeywords: true,
      ...(keyspace === null ? {} : { defaultSchema: keyspace }),
    });
    view.current?.dispatch({ effects: language.current.reconfigure(spoken) });
  }, [tree, keyspace]);
  useImperativeHandle(ref, () => ({
    chosen: () => {
      const state = view.current?.state;
      if (state === undefined) return "";
      const { from, to } = state.selection.main;
      return from === to ? state.doc.toString() : state.sliceDoc(from, to);
    },
    write: (text) => {
      const editor = view.current;
      editor?.dispatch({
        changes: { from: 0, to: editor.state.doc.length, insert: text },
        selection: { anchor: text.length },
      });
      editor?.focus();
    },
    show: (line, column) => {
      const editor = view.current;
      if (editor === null) return;
      const { doc, selection } = editor.state;
      // Lines are those of what was run, which began with the selection.
      const begin = doc.lineAt(selection.main.from);
      const number = Math.min(
        doc.lines,
        begin.number * Number(!selection.main.empty) + line - Number(!selection.main.empty),
      );
      const at = doc.line(Math.max(1, number));
      const within = line === 1 && !selection.main.empty ? selection.main.from - begin.from + column : column;
      editor.dispatch({ selection: { anchor: Math.min(at.from + within, at.to) }, scrollIntoView: true });
      editor.focus();
    },
  }));
  return <div ref={place} className="cql-editor" />;
}

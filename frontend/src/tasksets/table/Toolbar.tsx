/** Above the table: search, how many, what can be done with the chosen ones, and the menus of filters, order and columns. */
import { useState } from "react";
import type { TaskRow, TasksetOut } from "../../api/types";
import { count, plural } from "../../ui/formats";
import { Icon } from "../../ui/Icon";
import { Failed } from "../../ui/Notices";
import { Menu } from "../../ui/Overlays";
import { Search } from "../../ui/Search";
import { useBulk } from "./bulk";
import type { Work } from "./bulk";
import { ColumnChooser } from "./ColumnChooser";
import type { KnownColumn } from "./columns";
import type { Mark } from "./marks";
import type { Ask, Question } from "./question";
import { isNarrowed, sortedBy } from "./question";
import type { Selection } from "./selection";
import { choose, isChosen, NOTHING, sizeOf } from "./selection";
import { SetColumnDialog } from "./SetColumnDialog";

interface Props {
  set: TasksetOut;
  pinned: boolean;
  question: Question;
  query: string;
  onAsk: Ask;
  total: number | null;
  stale: boolean;
  selection: Selection;
  onSelect: (selection: Selection) => void;
  loaded: () => TaskRow[];
  marks: ReadonlyMap<string, Mark>;
  known: readonly KnownColumn[];
  shown: readonly string[];
  onShown: (shown: string[] | null) => void;
  sorting: boolean;
  onSorting: (open: boolean) => void;
  showsPanel: boolean;
  onPanel: () => void;
  onStart: (selection: Selection) => void;
}

export function Toolbar(props: Props) {
  const { set, question, query, onAsk, total, selection, onSelect } = props;
  const all = set.head?.task_count ?? 0;
  const narrowed = isNarrowed(question);
  const everyone: Selection = { kind: "all", question, query, count: total ?? 0 };
  return (
    <div className="grid gap-2 border-b border-line px-6 py-2 max-md:px-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Search label="Search slugs and content" value={question.q} onChange={(q) => onAsk((before) => ({ ...before, q }))} />
        <span className={`text-12 text-text-2 tnum ${props.stale ? "opacity-60" : ""}`} role="status">
          {total === null ? "" : narrowed ? `${count(total)} of ${count(all)} tasks match` : plural(total, "task")}
        </span>
        <span className="grow" />
        <button type="button" className="btn ghost" aria-pressed={props.showsPanel} onClick={props.onPanel}>
          <Icon name="filter" /> Filters
        </button>
        <SortMenu {...props} />
        <ColumnChooser known={props.known} shown={props.shown} onChange={props.onShown} onReset={() => props.onShown(null)} />
        {narrowed && sizeOf(selection) === 0 && (total ?? 0) > 0 && (
          <button type="button" className="btn" onClick={() => props.onStart(everyone)}>
            <Icon name="play" /> New job on those that match
          </button>
        )}
      </div>
      {sizeOf(selection) > 0 && <ChosenBar {...props} everyone={everyone} onClear={() => onSelect(NOTHING)} />}
    </div>
  );
}

function SortMenu({ question, known, onAsk, sorting, onSorting }: Props) {
  const sortable = [{ id: "slug", name: "Slug" }, ...known.filter((column) => column.id !== "prompt")].slice(0, 60);
  const how = (id: string) => question.sorts.find((sort) => sort.column === id);
  return (
    <Menu
      label="Sort"
      open={sorting}
      onOpen={onSorting}
      button={
        <button type="button" className="btn ghost">
          <Icon name="down" /> Sort
        </button>
      }
      items={[
        { text: "As in the taskset", run: () => onAsk((before) => ({ ...before, sorts: [] })), hint: question.sorts.length ? "" : "now" },
        null,
        ...sortable.map(({ id, name }) => ({ text: name, run: () => onAsk((before) => sortedBy(before, id, false)), hint: how(id) ? (how(id)?.descending ? "down" : "up") : "" })),
      ]}
    />
  );
}

function ChosenBar({ set, pinned, query, total, question, selection, onSelect, loaded, marks, known, everyone, onClear, onStart }: Props & { everyone: Selection; onClear: () => void }) {
  const [setting, setSetting] = useState(false);
  const bulk = useBulk(set, marks, () => {
    setSetting(false);
    onClear();
  });
  const work = (what: Work) => bulk.mutate({ selection, work: what });
  const size = sizeOf(selection);
  const here = loaded();
  const why = pinned ? "Old versions never change; go to the head" : undefined;
  return (
    <div className="flex flex-wrap items-center gap-2" role="group" aria-label="Chosen tasks">
      <span className="tag acc tnum" role="status">
        {selection.kind === "all" ? `all ${count(size)}${isNarrowed(selection.question) ? " that match" : ""}` : count(size)} chosen
      </span>
      {selection.kind === "some" && here.some((row) => !isChosen(selection, row.slug, query)) && (
        <button type="button" className="copy !px-1" onClick={() => onSelect(choose(selection, here.map((row) => row.slug), true))}>
          Choose the {count(here.length)} loaded
        </button>
      )}
      {selection.kind === "some" && total !== null && total > size && (
        <button type="button" className="copy !px-1" onClick={() => onSelect(everyone)}>
          Choose all {count(total)}
          {isNarrowed(question) ? " that match" : ""}
        </button>
      )}
      <button type="button" className="copy !px-1" onClick={onClear}>
        Clear
      </button>
      <span className="grow" />
      <button type="button" className="btn" disabled={pinned || bulk.isPending} title={why} onClick={() => setSetting(true)}>
        Set column…
      </button>
      <button type="button" className="btn" disabled={pinned || bulk.isPending} title={why} onClick={() => work({ duplicate: true })}>
        Duplicate
      </button>
      <button type="button" className="btn danger" disabled={pinned || bulk.isPending} title={why} onClick={() => work({ remove: true })}>
        Remove {plural(size, "task")}
      </button>
      <button type="button" className="btn" onClick={() => onStart(selection)}>
        <Icon name="play" /> New job on {plural(size, "task")}
      </button>
      {bulk.error && !setting && <Failed what="Could not change the draft" error={bulk.error} />}
      {setting && (
        <SetColumnDialog
          count={size}
          names={known.filter((column) => column.id.startsWith("columns.")).map((column) => column.id.slice("columns.".length))}
          busy={bulk.isPending}
          error={bulk.error}
          onSet={(columns) => work({ set_columns: columns })}
          onClose={() => setSetting(false)}
        />
      )}
    </div>
  );
}

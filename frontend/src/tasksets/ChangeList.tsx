/** The left side of pages about changes: changed tasks as virtual rows, filtered by slug, one of them opened. */
import type { Ref } from "react";
import type { DiffKind } from "../api/types";
import { Icon } from "../ui/Icon";
import { Empty } from "../ui/Notices";
import { Search } from "../ui/Search";
import type { TableHandle } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { MARK } from "./changes";

export interface ListedChange {
  slug: string;
  kind: DiffKind;
  words: string;
  /** Set where the person has to decide. */
  conflict?: "open" | "decided";
}

interface Props {
  changes: ListedChange[];
  slug: string | null;
  onOpen: (slug: string) => void;
  q: string;
  onSearch: (q: string) => void;
  more?: (() => void) | undefined;
  loadingMore?: boolean;
  /** Said above the list. */
  note?: string;
  ref?: Ref<TableHandle>;
}

export function ChangeList({ changes, slug, onOpen, q, onSearch, more, loadingMore = false, note = "", ref }: Props) {
  return (
    <div className="list">
      <div className="p-2">
        <Search label="Filter changes by slug" value={q} onChange={onSearch} width="100%" />
        {note && <p className="pt-1 text-12 text-text-2">{note}</p>}
      </div>
      <VirtualTable
        {...(ref ? { ref } : {})}
        label="Changed tasks"
        rows={changes}
        keyOf={(row) => row.slug}
        rowHeight={30}
        more={more}
        loadingMore={loadingMore}
        selected={(row) => row.slug === slug}
        empty={<Empty title="No change matches" />}
        columns={[{ name: "Task", className: "on-phone wide", cell: (row) => <Change change={row} onOpen={onOpen} /> }]}
      />
    </div>
  );
}

function Change({ change, onOpen }: { change: ListedChange; onOpen: (slug: string) => void }) {
  const { sign, className } = MARK[change.kind];
  return (
    <button type="button" className="stretch flex w-full items-center gap-2 text-left" onClick={() => onOpen(change.slug)}>
      <span className={`dm ${className}`} aria-hidden="true">
        {sign}
      </span>
      <span className="mono">{change.slug}</span>
      <span className="truncate font-normal text-text-2">{change.words}</span>
      {change.conflict && (
        <span className={`ml-auto ${change.conflict === "open" ? "text-warn" : "text-text-3"}`} title={change.conflict === "open" ? "conflict" : "conflict, decided"}>
          <Icon name={change.conflict === "open" ? "warn" : "check"} small />
          <span className="sr-only">{change.conflict === "open" ? "conflict" : "conflict, decided"}</span>
        </span>
      )}
    </button>
  );
}

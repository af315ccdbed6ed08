/** Tab: what was found out about the version looked at. `?list=`, `?row=` and `?settings=1` are the state, so any of it can be linked. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { api } from "../api/client";
import type { AnalysisOut } from "../api/types";
import type { TabProps } from "../tasksets/tabs";
import { count, plural } from "../ui/formats";
import { useKeys } from "../ui/keys";
import { Empty, Failed, Skeleton } from "../ui/Notices";
import { Segments } from "../ui/Segments";
import type { Rows } from "../ui/useRows";
import { useRows } from "../ui/useRows";
import type { TableHandle } from "../ui/VirtualTable";
import { VirtualTable } from "../ui/VirtualTable";
import { IN_PLACE } from "../ui/useAddress";
import { Chosen } from "./Chosen";
import { Choices } from "./Choices";
import { Detail } from "./Detail";
import { Environments } from "./Environments";
import { analysisQuery, findingsQuery } from "./queries";
import type { Found } from "./queries";
import { Status } from "./Status";
import type { ListName } from "./words";
import { cutWords, emptyWords, keyOf, listOf, LISTS, rowInWords, slugOf } from "./words";

export default function Insight({ set, shown, pinned }: TabProps) {
  const number = shown.head?.number;
  const ref = pinned && number !== undefined ? `${set.name}@${number}` : set.id;
  const [params, setParams] = useSearchParams();
  const put = (changes: Record<string, string>) => {
    const next = new URLSearchParams(params);
    for (const [name, value] of Object.entries(changes)) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    setParams(next, IN_PLACE);
  };
  const analysis = useQuery(analysisQuery(ref));
  const begin = useBegin(ref);
  if (number === undefined) return <Empty title="No tasks yet">Once there are some, they are checked and compared by themselves.</Empty>;
  if (analysis.error) return <Failed what="Could not load the analysis" error={analysis.error} retry={() => void analysis.refetch()} />;
  if (!analysis.data) return <Skeleton />;
  const list = listOf(params.get("list"), analysis.data.counts);
  return (
    <>
      <Status analysis={analysis.data} begin={begin} onSettings={() => put({ settings: "1" })} />
      {begin.error && <Failed what="Could not begin" error={begin.error} />}
      {analysis.data.status === "done" && (
        <>
          <div className="flex flex-wrap items-center gap-3 border-t border-line px-6 py-2 max-md:px-4">
            <div className="max-w-full overflow-x-auto p-0.5 [&_button]:whitespace-nowrap">
              <Segments label="Findings" options={LISTS.map(([name, text]) => [name, `${text} ${count(analysis.data.counts[name])}`] as const)} value={list} onChange={(name) => put({ list: name, row: "" })} />
            </div>
            <span className="text-12 text-text-2">{cutWords(list, analysis.data.counts)}</span>
          </div>
          {list === "checks" && <Environments analysis={analysis.data} />}
          <Findings key={list} set={set} version={number} analysis={analysis.data} name={ref} list={list} row={params.get("row")} onRow={(row) => put({ row })} pinned={pinned} />
        </>
      )}
      {params.get("settings") && <Choices set={set} onClose={() => put({ settings: "" })} />}
    </>
  );
}

function useBegin(ref: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => api<AnalysisOut>(`/api/tasksets/${encodeURIComponent(ref)}/analysis`, { method: "POST" }),
    onSuccess: (begun) => client.setQueryData(analysisQuery(ref).queryKey, begun),
  });
}

interface FindingsProps {
  set: TabProps["set"];
  version: number;
  analysis: AnalysisOut;
  name: string;
  list: ListName;
  row: string | null;
  onRow: (key: string) => void;
  pinned: boolean;
}

function Findings({ set, version, analysis, name, list, row, onRow, pinned }: FindingsProps) {
  const findings = useRows(findingsQuery(name, list, analysis.ended_at));
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const table = useRef<TableHandle>(null);
  const { rows } = findings;
  const at = Math.max(0, rows.findIndex((one) => keyOf(one) === row));
  const open = rows[at];
  const go = (to: number) => {
    const next = rows[to];
    if (!next) return;
    onRow(keyOf(next));
    table.current?.scrollTo(to);
  };
  const flip = (slug: string) => choose((before) => (before.has(slug) ? new Set([...before].filter((one) => one !== slug)) : new Set([...before, slug])));
  useKeys("Findings", [
    { keys: "j", what: "Next finding", run: () => go(at + 1) },
    { keys: "k", what: "Finding before", run: () => go(at - 1) },
    { keys: "x", what: "Select the finding's task", run: () => open && !pinned && flip(slugOf(open)) },
  ]);
  if (findings.error) return <Failed what="Could not load the findings" error={findings.error} retry={findings.retry} />;
  if (findings.loading) return <Skeleton />;
  const nothing = emptyWords(list, analysis);
  if (!open) return <Empty title={nothing.title}>{nothing.about}</Empty>;
  return (
    <>
      <div className="changes">
        <List findings={findings} at={at} handle={table} chosen={chosen} onChoose={pinned ? undefined : flip} onRow={onRow} />
        <Detail key={keyOf(open)} set={set} version={version} row={open} place={`${count(at + 1)} of ${count(analysis.counts[list])}`} />
      </div>
      {!pinned && <Chosen set={set} chosen={chosen} all={rows.map(slugOf)} choose={choose} />}
    </>
  );
}

interface ListProps {
  findings: Rows<Found>;
  at: number;
  handle: React.RefObject<TableHandle | null>;
  chosen: ReadonlySet<string>;
  onChoose: ((slug: string) => void) | undefined;
  onRow: (key: string) => void;
}

function List({ findings, at, handle, chosen, onChoose, onRow }: ListProps) {
  const open = findings.rows[at];
  return (
    <div className="list">
      <VirtualTable
        ref={handle}
        label={plural(findings.rows.length, "finding")}
        rows={findings.rows}
        keyOf={(row, index) => `${index} ${keyOf(row)}`}
        rowHeight={30}
        more={findings.more}
        loadingMore={findings.loadingMore}
        selected={(row) => row === open}
        columns={[
          {
            name: "Task",
            className: "on-phone wide",
            cell: (row) => (
              <span className="flex items-center gap-2">
                {onChoose && <input type="checkbox" aria-label={`Select ${slugOf(row)}`} checked={chosen.has(slugOf(row))} onChange={() => onChoose(slugOf(row))} />}
                <button type="button" className="stretch flex min-w-0 grow items-center gap-2 text-left" onClick={() => onRow(keyOf(row))} aria-current={row === open || undefined}>
                  <span className="mono">{slugOf(row)}</span>
                  <span className="truncate font-normal text-text-2">{rowInWords(row)}</span>
                </button>
              </span>
            ),
          },
        ]}
      />
    </div>
  );
}

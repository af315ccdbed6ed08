/** The filter panel: each column's values with their counts under the other filters, numbers as a histogram. Values that nothing has
 * now stay, greyed, in the same order; Alt-click or `x` takes a value out instead of in. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import type { FacetOut, FacetsOut } from "../../api/types";
import { count } from "../../ui/formats";
import { Failed, Skeleton } from "../../ui/Notices";
import { Search } from "../../ui/Search";
import { Histogram } from "./Histogram";
import type { Ask, Choice, Filter, Question } from "./question";
import { isActive, named, NO_FILTER, pairs, shortName, toggled, withFilter } from "./question";

const OPEN_VALUES = 7;
const SEARCHED_FROM = 12;
const OPEN_FACETS = 6;
const TITLES: Record<string, string> = { env: "Environment", task_id: "Template" };

export const titleOf = (column: string) => TITLES[column] ?? shortName(column);

const queryOf = (question: Question) => new URLSearchParams(pairs({ ...question, sorts: [] })).toString();

/** Counts of a version's columns under a question. */
export const facetsQuery = (reference: string, question: Question, more = "") => ({
  queryKey: ["tasksets", "facets", reference, queryOf(question), more],
  queryFn: ({ signal }: { signal: AbortSignal }) => api<FacetsOut>(`/api/tasksets/${encodeURIComponent(reference)}/facets?${[queryOf(question), more].filter(Boolean).join("&")}`, { signal }),
  staleTime: Infinity,
  placeholderData: keepPreviousData,
});

interface Props {
  reference: string;
  question: Question;
  onChange: Ask;
}

export function Facets({ reference, question, onChange }: Props) {
  const facets = useQuery(facetsQuery(reference, question));
  if (facets.error) return <Failed what="Could not count the columns" error={facets.error} retry={() => void facets.refetch()} />;
  if (!facets.data) return <Skeleton />;
  const shown = facets.data.facets.filter((facet) => facet.distinct > 1 || question.filters.has(facet.column));
  if (shown.length === 0) return <p className="p-4 text-text-2">No column has more than one value to filter by.</p>;
  return (
    <div className={facets.isPlaceholderData ? "stale" : undefined}>
      {shown.map((facet, index) => (
        <Facet key={facet.column} facet={facet} isOpen={index < OPEN_FACETS || question.filters.has(facet.column)} reference={reference} question={question} onChange={onChange} />
      ))}
      {facets.data.more.length > 0 && <p className="px-4 py-3 text-12 text-text-2">{count(facets.data.more.length)} more columns are not counted here; choose them as columns to see and sort them.</p>}
    </div>
  );
}

function Facet({ facet, isOpen, reference, question, onChange }: Props & { facet: FacetOut; isOpen: boolean }) {
  const [q, setQ] = useState("");
  const [all, setAll] = useState(false);
  const filter = question.filters.get(facet.column) ?? NO_FILTER;
  const change = (next: Filter) => onChange((before) => withFilter(before, facet.column, next));
  const found = useQuery({ ...facetsQuery(reference, question, new URLSearchParams({ column: facet.column, facet_q: q }).toString()), enabled: q !== "" });
  const listed = inOrder(facet.kind, q ? (found.data?.facets[0]?.values ?? []) : facet.values);
  const shown = all || q ? listed : listed.filter((value, index) => index < OPEN_VALUES || isChosen(filter, value.text));
  const asNumbers = facet.kind === "numbers" && facet.distinct > SEARCHED_FROM;
  const title = titleOf(facet.column);
  return (
    <details className="facet" open={isOpen}>
      <summary>
        <span className="truncate">{title}</span>
      </summary>
      {isActive(filter) && (
        <button type="button" className="copy clear" onClick={() => change(NO_FILTER)}>
          Clear<span className="sr-only"> the filter on {title}</span>
        </button>
      )}
      {asNumbers && <Histogram title={title} bins={facet.bins} filter={filter} onChange={change} />}
      {!asNumbers && (
        <>
          {facet.distinct > SEARCHED_FROM && <div className="px-4 pb-1"><Search label={`Search ${title}`} value={q} onChange={setQ} width="100%" page={false} /></div>}
          <ul aria-label={title}>
            {shown.map((value) => (
              <Value key={value.text ?? "\0"} text={value.text} count={value.count} most={Math.max(1, ...listed.map((one) => one.count))} filter={filter} onChange={change} />
            ))}
          </ul>
          {q && found.data && listed.length === 0 && <p className="px-4 text-12 text-text-2">No value holds “{q}”.</p>}
          {!q && !all && listed.length > shown.length && (
            <button type="button" className="copy ml-3 !px-1" onClick={() => setAll(true)}>
              {count(listed.length - shown.length)} more{facet.distinct > listed.length ? ` of ${count(facet.distinct - shown.length)}` : ""}
            </button>
          )}
        </>
      )}
    </details>
  );
}

/** Numbers by size, texts by how many have them. */
const inOrder = (kind: FacetOut["kind"], values: FacetOut["values"]) => (kind === "numbers" ? values.toSorted((a, b) => Number(a.text ?? Infinity) - Number(b.text ?? Infinity)) : values);

const isChosen = (filter: Filter, choice: Choice) => filter.includes.includes(choice) || filter.excludes.includes(choice);

interface ValueProps {
  text: Choice;
  count: number;
  most: number;
  filter: Filter;
  onChange: (filter: Filter) => void;
}

function Value({ text, count: number, most, filter, onChange }: ValueProps) {
  const isOut = filter.excludes.includes(text);
  return (
    <li className={number === 0 ? "none" : undefined}>
      <label title="Alt-click or x: all but these">
        <input
          type="checkbox"
          checked={isOut || filter.includes.includes(text)}
          onChange={() => onChange(toggled(filter, text, isOut ? "excludes" : "includes"))}
          onClick={(event) => {
            if (!event.altKey) return;
            event.preventDefault();
            onChange(toggled(filter, text, "excludes"));
          }}
          onKeyDown={(event) => {
            if (event.key !== "x") return;
            event.preventDefault();
            event.stopPropagation();
            onChange(toggled(filter, text, "excludes"));
          }}
        />
        <span className={`grow truncate ${isOut ? "out" : ""}`}>{isOut && <span className="sr-only">not </span>}{named(text)}</span>
        <span className="track" aria-hidden="true"><i style={{ width: `${(100 * number) / most}%` }} /></span>
        <span className="tnum n">{count(number)}</span>
      </label>
    </li>
  );
}

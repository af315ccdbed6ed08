/** Which tasks are chosen: some by name, wherever they are in the table, or all that answer one question, whatever their number. Pure. */
import type { Question } from "./question";
import { bulkFilter, isNarrowed } from "./question";

export type Selection = { kind: "some"; slugs: ReadonlySet<string> } | { kind: "all"; question: Question; query: string; count: number };

export const NOTHING: Selection = { kind: "some", slugs: new Set() };

export const sizeOf = (selection: Selection) => (selection.kind === "all" ? selection.count : selection.slugs.size);

/** `query` is the question that the table shows: of another one it is not known who answers. */
export const isChosen = (selection: Selection, slug: string, query: string) => (selection.kind === "all" ? selection.query === query : selection.slugs.has(slug));

/** Choosing by name ends choosing all. */
export function choose(selection: Selection, slugs: Iterable<string>, on: boolean): Selection {
  const next = new Set(selection.kind === "some" ? selection.slugs : []);
  for (const slug of slugs) {
    if (on) next.add(slug);
    else next.delete(slug);
  }
  return { kind: "some", slugs: next };
}

/** As the body of a bulk edit names them. */
export const bulkTarget = (selection: Selection) => (selection.kind === "some" ? { slugs: [...selection.slugs] } : { q: selection.question.q, filter: bulkFilter(selection.question) });

/** "3 tasks", "all 1,319 tasks that match": what a button or a sentence says. */
export const matches = (question: Question) => (isNarrowed(question) ? " that match" : "");

/** What the person's draft says of the tasks in the table: changed, new, taken out. */
import type { DraftOut } from "../../api/types";

export interface Mark {
  sign: string;
  className: string;
  word: string;
}

const MARKS: Record<DraftOut["changes"][number]["op"], Mark> = {
  set: { sign: "~", className: "dm ch", word: "changed in your draft" },
  add: { sign: "+", className: "dm ad", word: "new in your draft" },
  remove: { sign: "−", className: "dm rm", word: "removed in your draft" },
};

/** By slug. */
export const marksOf = (draft: DraftOut | null | undefined): ReadonlyMap<string, Mark> => new Map((draft?.changes ?? []).map((change) => [change.slug, MARKS[change.op]]));

/** What a person decided about the conflicts of a draft. Pure. */
import type { DraftOut } from "../api/types";

/** What becomes of conflicts: by slug, and of all that are not named. */
export interface Decisions {
  resolve: Record<string, "mine" | "theirs">;
  others: "mine" | "theirs" | null;
}
export const UNDECIDED: Decisions = { resolve: {}, others: null };

/** Conflicts that nobody decided; the draft lists the first hundred by name. */
export const openConflicts = (draft: DraftOut, { resolve, others }: Decisions) =>
  others ? 0 : draft.conflict_count - draft.conflicts.filter((one) => resolve[one.slug]).length;

import { expect, test } from "vitest";
import type { AnalysisOut } from "../api/types";
import type { Found } from "./queries";
import { cutWords, emptyWords, keyOf, listOf, rowInWords, share, slugOf } from "./words";

const counts: AnalysisOut["counts"] = { tasks: 10, checks: 0, tasks_with_checks: 0, tasks_unknown: 0, exact: 0, near: 2, prompts: 9, leaks: 1, cut: [] };
const settings: AnalysisOut["settings"] = { schema_policy: "warn", answer_fields: ["answer", "gold"], jaccard: 0.8, shingle_words: 5, permutations: 128 };
const analysis = { counts, settings } as AnalysisOut;
const near: Found = { list: "near", kind: "near", slug: "a", other: "b", jaccard: 0.91667 };

test("the list is the one asked for, else the first that holds something", () => {
  expect(listOf("leaks", counts)).toBe("leaks");
  expect(listOf("odd", counts)).toBe("near");
  expect(listOf(null, { ...counts, near: 0, leaks: 0 })).toBe("checks");
});

test("a pair is about the later task, and no two rows share a key", () => {
  expect([slugOf(near), keyOf(near), rowInWords(near)]).toEqual(["b", "a b", "0.916 like a"]);
  const leak: Found = { list: "leaks", slug: "a", answer_path: "args.answer", answer: "Paris", prompt_path: "args.q", before: "", match: " Paris", after: "" };
  expect([slugOf(leak), rowInWords(leak)]).toEqual(["a", "Paris in args.q"]);
  const check: Found = { list: "checks", slug: "a", path: "args.n", rule: "must be at least 1", value: "0" };
  expect([slugOf(check), rowInWords(check)]).toEqual(["a", "args.n must be at least 1"]);
});

test("a share is never rounded up to the whole", () => {
  expect([share(1), share(0.9999), share(0.8)]).toEqual(["1", "0.999", "0.800"]);
});

test("an empty list says why it is empty", () => {
  expect(emptyWords("checks", analysis).title).toBe("Every task fits");
  expect(emptyWords("checks", { ...analysis, settings: { ...settings, schema_policy: "off" } }).title).toBe("Checks are off");
  expect(emptyWords("checks", { ...analysis, counts: { ...counts, tasks_unknown: 10 } }).title).toBe("No environment is known yet");
  expect(emptyWords("leaks", analysis).about).toContain("answer, gold");
});

test("a list that does not hold everything says so", () => {
  expect(cutWords("near", counts)).toBeNull();
  expect(cutWords("near", { ...counts, cut: ["near"] })).toContain("nearest few");
  expect(cutWords("checks", { ...counts, checks: 250_000, cut: ["check"] })).toContain("of 250 k");
});

import { describe, expect, it } from "vitest";
import { fingerprint, hash53 } from "./fingerprint";
import { nameFrom, pastedName, wrongKind } from "./kinds";

describe("files by their name", () => {
  it.each(["a.csv", "a.TSV", "a.jsonl.gz", "a.parquet", "a.zip", "a.csv.zst", "README", "a.txt"])("%s may be imported", (name) => {
    expect(wrongKind(name)).toBeNull();
  });
  it.each([
    ["sheet.xlsx", "Save the sheet as CSV."],
    ["tasks.py", "hud sync tasks"],
    ["x.pdf", "Right are CSV"],
    ["x.tar.gz", "Pack the task folders as a zip."],
  ])("%s is refused with what to do", (name, advice) => {
    expect(wrongKind(name)).toContain(advice);
  });
  it("gives a new taskset a name", () => {
    expect([nameFrom("gsm8k_test.csv.gz"), nameFrom("rows"), nameFrom("a.b.jsonl")]).toEqual(["gsm8k_test", "rows", "a.b"]);
  });
  it("knows pasted rows by their first mark", () => {
    expect([pastedName(' {"a": 1}'), pastedName("[1]"), pastedName("a\tb\n"), pastedName("a,b\n")]).toEqual(["pasted.jsonl", "pasted.json", "pasted.tsv", "pasted.csv"]);
  });
});

describe("the fingerprint of a file", () => {
  it("is the same for the same bytes, and another for a change at either end or in the length", async () => {
    const text = "x".repeat(600_000);
    const of = (body: string) => fingerprint(new Blob([body]));
    expect(await of(text)).toBe(await of(text));
    const others = [`y${text.slice(1)}`, `${text.slice(1)}y`, text.slice(1)];
    for (const other of others) expect(await of(other)).not.toBe(await of(text));
  });
  it("tells short texts apart", () => {
    const hashes = ["", "a", "b", "ab", "ba"].map((text) => hash53(new TextEncoder().encode(text)));
    expect(new Set(hashes).size).toBe(5);
  });
});

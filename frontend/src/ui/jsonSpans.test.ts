import { describe, expect, it } from "vitest";
import { isJson, NotJson, spans, valueAt, withoutMember, withValue } from "./jsonSpans";

const ROW = `{
  "env": "maths",   "id" : "ask",
  "args": {"n": 1.0, "big": 12345678901234567890, "e": 1e5, "z": -0, "text": "a \\u00e9 \\"}\\""},
  "columns": null
}`;

describe("JSON text edited in place", () => {
  it("changes one value and no other character", () => {
    expect(withValue(ROW, ["args", "n"], "2.50")).toBe(ROW.replace("1.0", "2.50"));
    expect(withValue(ROW, ["id"], '"tell"')).toBe(ROW.replace('"ask"', '"tell"'));
  });

  it("changing a value and changing it back gives the very text", () => {
    for (const path of [["env"], ["args", "big"], ["args", "e"], ["args", "text"], ["columns"]]) {
      expect(withValue(withValue(ROW, path, "[1]"), path, valueAt(ROW, path) as string)).toBe(ROW);
    }
  });

  it("reads digits as they stand", () => {
    expect(["n", "big", "e", "z"].map((key) => valueAt(ROW, ["args", key]))).toEqual(["1.0", "12345678901234567890", "1e5", "-0"]);
  });

  it("puts a new member behind the others, spaced as they are", () => {
    expect(withValue('{\n  "a": 1\n}', ["b"], "2")).toBe('{\n  "a": 1,\n  "b": 2\n}');
    expect(withValue("{}", ["b"], "2")).toBe('{"b": 2}');
    expect(withValue('{"a":1}', ["b"], "2")).toBe('{"a":1, "b": 2}');
  });

  it("makes the objects on the way, also where there is null", () => {
    expect(withValue("{}", ["columns", "level"], '"hard"')).toBe('{"columns": {"level": "hard"}}');
    expect(withValue('{"columns":null}', ["columns", "level"], '"hard"')).toBe('{"columns":{"level": "hard"}}');
  });

  it("takes a member out with its comma, first, middle, last and only", () => {
    const text = '{"a": 1.0, "b": 2, "c": 3}';
    expect(withoutMember(text, ["a"])).toBe('{"b": 2, "c": 3}');
    expect(withoutMember(text, ["b"])).toBe('{"a": 1.0, "c": 3}');
    expect(withoutMember(text, ["c"])).toBe('{"a": 1.0, "b": 2}');
    expect(withoutMember('{"a": {"b": 1}}', ["a", "b"])).toBe('{"a": {}}');
    expect(withoutMember(text, ["nowhere"])).toBe(text);
  });

  it("finds items of lists and keys with escapes", () => {
    expect(valueAt('{"a\\"b": [1, {"x": 2.0}]}', ['a"b', 1, "x"])).toBe("2.0");
  });

  it("says where the text stops being JSON", () => {
    const wrong = (text: string) => {
      try {
        spans(text);
      } catch (reason) {
        return reason instanceof NotJson ? [reason.line, reason.column] : reason;
      }
      return null;
    };
    expect(wrong('{\n  "a": 1\n  "b": 2\n}')).toEqual([3, 3]);
    expect(wrong('{"a": }')).toEqual([1, 7]);
    expect(wrong('{"a": 01}')).toEqual([1, 8]);
    expect(wrong("{} {}")).toEqual([1, 4]);
    expect(wrong('{"a": NaN}')).toEqual([1, 7]);
    expect(wrong("")).toEqual([1, 1]);
    expect(isJson("[".repeat(100_000))).toBe(false);
  });
});

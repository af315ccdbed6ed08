import { describe, expect, it } from "vitest";
import { layOut, member, tokens } from "./jsonText";

const joined = (text: string) => layOut(text).map((line) => line.map((token) => token.text).join("")).join("\n");

describe("JSON as text", () => {
  it("keeps every digit and the order of keys", () => {
    expect(joined('{"b":1.10,"a":12345678901234567890}')).toBe('{\n  "b": 1.10,\n  "a": 12345678901234567890\n}');
  });

  it("keeps empty objects and lists on one line", () => {
    expect(joined('{"a":[],"b":{}}')).toBe('{\n  "a": [],\n  "b": {}\n}');
  });

  it("shows text that is no JSON as it is", () => {
    expect(joined("not json")).toBe("not json");
  });

  it("tells keys from strings, also with escapes and brackets inside", () => {
    const kinds = tokens('{"a\\"}":"x,{"}')?.map((token) => token.kind);
    expect(kinds).toEqual(["mark", "key", "mark", "string", "mark"]);
  });

  it("cuts a member out of an object without touching it", () => {
    expect(member('{"name":"x","tasks":[{"args":{"n":1.0,"tasks":2}}],"z":1}', "tasks")).toBe('[{"args":{"n":1.0,"tasks":2}}]');
    expect(member('{"tasks": 1.50 }', "tasks")).toBe("1.50");
    expect(member('{"name":"tasks"}', "tasks")).toBeNull();
  });
});

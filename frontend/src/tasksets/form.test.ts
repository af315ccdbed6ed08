import { describe, expect, it } from "vitest";
import { withValue } from "../ui/jsonSpans";
import type { Schema } from "./form";
import { fieldsOf, shownValue, typedValue } from "./form";

const TEXT = '{"env":"e","id":"ask","args":{"q":"caf\\u00e9 \\"x\\"","n":1.0,"big":12345678901234567890,"list":[1e5]},"columns":{"level":"hard"}}';
const SCHEMA: Schema = {
  properties: {
    n: { type: "number", description: "how many" },
    mode: { enum: ["fast", "slow"] },
    deep: { anyOf: [{ type: "boolean" }, { type: "null" }] },
    q: { type: "string" },
  },
  required: ["q", "mode"],
};

describe("the form of a task", () => {
  it("has the schema's fields in its order, then what is only there", () => {
    const fields = fieldsOf(TEXT, "args", SCHEMA);
    expect(fields.map((field) => [field.name, field.kind, field.value, field.required])).toEqual([
      ["n", "number", "1.0", false],
      ["mode", "choice", null, true],
      ["deep", "choice", null, false],
      ["q", "text", '"caf\\u00e9 \\"x\\""', true],
      ["big", "number", "12345678901234567890", false],
      ["list", "json", "[1e5]", false],
    ]);
    expect(fields[1]?.choices).toEqual(['"fast"', '"slow"']);
    expect(fields[2]?.choices).toEqual(["true", "false", "null"]);
  });

  it("goes by what is there when there is no schema, or when the value is none of its choices", () => {
    expect(fieldsOf(TEXT, "columns", null).map((field) => [field.name, field.kind])).toEqual([["level", "text"]]);
    expect(fieldsOf('{"args":{"mode":7}}', "args", SCHEMA).find((field) => field.name === "mode")?.kind).toBe("number");
  });

  it("shows words and digits, and takes them back as JSON", () => {
    const [n, , , q] = fieldsOf(TEXT, "args", SCHEMA);
    expect([n && shownValue(n), q && shownValue(q)]).toEqual(["1.0", 'café "x"']);
    expect(typedValue("number", "2.50")).toBe("2.50");
    expect(typedValue("number", "99999999999999999999")).toBe("99999999999999999999");
    expect(typedValue("number", "2.")).toBeNull();
    expect(typedValue("number", '"2"')).toBeNull();
    expect(typedValue("json", "[1, ")).toBeNull();
    expect(typedValue("text", 'a "b"\n')).toBe('"a \\"b\\"\\n"');
  });

  it("an edited field leaves the text of all others byte for byte", () => {
    const edited = withValue(TEXT, ["args", "n"], typedValue("number", "1.00") ?? "");
    expect(edited).toBe(TEXT.replace("1.0,", "1.00,"));
  });

  it("has no fields while the text is no JSON", () => {
    expect(fieldsOf("{", "args", null)).toEqual([]);
  });
});

import { describe, expect, it } from "vitest";
import type { TaskRow } from "../../api/types";
import { cellIn, cellsOf, promptIn, shortColumns } from "./cells";

const row = (columns: string | null, args = "{}"): TaskRow => ({ position: 0, slug: "a", env: "e", task_id: "t", args_preview: args, columns, content_id: "c" });

describe("cells of a table of tasks", () => {
  it("show digits as they came, texts without quotes, other JSON as it is, and null as nothing", () => {
    const cells = cellsOf('{"n":1.10,"big":123456789012345678901234567890,"s":"a\\n\\"b\\"","list":[1,2],"none":null,"yes":true}');
    expect([...cells]).toEqual([
      ["n", { text: "1.10", isNumber: true }],
      ["big", { text: "123456789012345678901234567890", isNumber: true }],
      ["s", { text: 'a\n"b"', isNumber: false }],
      ["list", { text: "[1,2]", isNumber: false }],
      ["yes", { text: "true", isNumber: false }],
    ]);
    expect(cellsOf(null).size + cellsOf("[1]").size + cellsOf("{").size).toBe(0);
  });

  it("are read once a row", () => {
    const one = row('{"a":"x"}', '{"question":"What is the answer?"}');
    expect(cellIn(one, "a")).toBe(cellIn(one, "a"));
    expect(promptIn(one)).toBe("What is the answer?");
  });

  it("come from the first three short columns until somebody chooses", () => {
    expect(shortColumns([row(`{"long":"${"x".repeat(30)}","a":1,"b":2,"c":3,"d":4}`), row('{"a":"short"}')])).toEqual(["a", "b", "c"]);
  });
});

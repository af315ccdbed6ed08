import { describe, expect, it } from "vitest";
import { BadFile, rowsOf } from "./rows";

describe("rows of an upload", () => {
  it("passes a JSON list on as it stands, digits and all", () => {
    expect(rowsOf('[{"slug":"a","args":{"n":1.10}}]')).toEqual({ body: '{"tasks":[{"slug":"a","args":{"n":1.10}}]}', count: 1 });
  });

  it("takes the tasks out of an export", () => {
    expect(rowsOf('{"name":"x","tasks":[{"slug":"a"},{"slug":"b"}]}')).toEqual({ body: '{"tasks":[{"slug":"a"},{"slug":"b"}]}', count: 2 });
  });

  it("reads one row a line and skips blank lines", () => {
    expect(rowsOf('{"slug":"a","n":12345678901234567890}\r\n\n{"slug":"b"}\n')).toEqual({ body: '{"tasks":[{"slug":"a","n":12345678901234567890},{"slug":"b"}]}', count: 2 });
  });

  it("takes a single row", () => {
    expect(rowsOf('{"slug":"a"}').count).toBe(1);
  });

  it("names the line that is no JSON", () => {
    expect(() => rowsOf('{"slug":"a"}\n{"slug":')).toThrow("Line 2 is not a JSON object.");
    expect(() => rowsOf("slug,prompt\n")).toThrow(BadFile);
    expect(() => rowsOf(" \n")).toThrow("The file is empty.");
  });
});

import { describe, expect, it } from "vitest";
import { blocksOf, inlinesOf } from "./markdown";

describe("the little of Markdown that prompts use", () => {
  it("is headings, lists, code and paragraphs", () => {
    expect(blocksOf("# Sum\n\nAdd **these**:\n- one\n- two\n\n1. first\n\n```py\na = 1\n\n# no heading\n```\nend")).toEqual([
      { kind: "heading", level: 1, parts: [{ kind: "text", text: "Sum" }] },
      { kind: "paragraph", parts: [{ kind: "text", text: "Add " }, { kind: "strong", text: "these" }, { kind: "text", text: ":" }] },
      { kind: "list", ordered: false, items: [[{ kind: "text", text: "one" }], [{ kind: "text", text: "two" }]] },
      { kind: "list", ordered: true, items: [[{ kind: "text", text: "first" }]] },
      { kind: "code", text: "a = 1\n\n# no heading" },
      { kind: "paragraph", parts: [{ kind: "text", text: "end" }] },
    ]);
  });

  it("leaves sums, globs and HTML as they are", () => {
    for (const text of ["2 * 3 * 4", "a*b*c", "<b onclick=x>hi</b>", "![x](a.png)", "snake_case_name", "`open"]) {
      expect(inlinesOf(text)).toEqual([{ kind: "text", text }]);
    }
  });

  it("links to the web alone", () => {
    expect(inlinesOf("[a](https://e.test/x)")).toEqual([{ kind: "link", text: "a", to: "https://e.test/x" }]);
    expect(inlinesOf("[a](javascript:alert(1))")).toEqual([{ kind: "text", text: "[a](javascript:alert(1))" }]);
  });

  it("ends code that is never closed at the end of the text", () => {
    expect(blocksOf("```\na")).toEqual([{ kind: "code", text: "a" }]);
  });
});

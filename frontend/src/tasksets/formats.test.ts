import { describe, expect, it } from "vitest";
import { downloadPath, FORMATS } from "./formats";

describe("downloads", () => {
  it("name each format once, the one that carries all first", () => {
    expect(new Set(FORMATS.map((format) => format.name)).size).toBe(FORMATS.length);
    expect(FORMATS[0]?.name).toBe("jsonl");
  });

  it("say the team in the address when one was chosen", () => {
    expect(downloadPath("/api/tasksets/a@1/download", "csv", null)).toBe("/api/tasksets/a@1/download?format=csv");
    expect(downloadPath("/api/x/download", "zip", "t 1")).toBe("/api/x/download?format=zip&team=t+1");
  });
});

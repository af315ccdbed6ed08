import { describe, expect, it } from "vitest";
import { askedIn, promptOf } from "./prompt";

describe("the words of a task", () => {
  it("takes the longest text of the arguments, also when the preview is cut", () => {
    expect(promptOf('{"id":"7","question":"Janet\\u2019s ducks lay 16 eggs per \\"day\\".\\nHow man')).toBe('Janet’s ducks lay 16 eggs per "day". How man');
  });

  it("shows the arguments when there is no sentence in them", () => {
    expect(promptOf('{"n":3}')).toBe('{"n":3}');
  });

  it("finds the argument that asks by its name, else by its length", () => {
    expect(askedIn('{"context":"a long text before the question","question":"Why?","n":1}')).toEqual({ key: "question", text: "Why?" });
    expect(askedIn('{"lines":"# Title\\nand more of it","short":"x"}')).toEqual({ key: "lines", text: "# Title\nand more of it" });
    expect([askedIn('{"n":1}'), askedIn("[1]"), askedIn("{")]).toEqual([null, null, null]);
  });
});

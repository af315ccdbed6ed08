import { describe, expect, it } from "vitest";
import { promptOf } from "./prompt";

describe("the words of a task", () => {
  it("takes the longest text of the arguments, also when the preview is cut", () => {
    expect(promptOf('{"id":"7","question":"Janet\\u2019s ducks lay 16 eggs per \\"day\\".\\nHow man')).toBe('Janet’s ducks lay 16 eggs per "day". How man');
  });

  it("shows the arguments when there is no sentence in them", () => {
    expect(promptOf('{"n":3}')).toBe('{"n":3}');
  });
});

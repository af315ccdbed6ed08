import { describe, expect, it } from "vitest";
import { ABSENT, between, bytes, count, dashed, digest, duration, isUuid, money, percent, plural, reward, shortId, when } from "./formats";

describe("formats", () => {
  it("shows absent values as a dash and never as zero", () => {
    for (const show of [count, percent, reward, money, bytes, duration]) {
      expect(show(null)).toBe(ABSENT);
      expect(show(undefined)).toBe(ABSENT);
      expect(show(Number.NaN)).toBe(ABSENT);
    }
    expect(when(null)).toBe(ABSENT);
    expect(digest(null)).toBe(ABSENT);
  });

  it("separates thousands and shortens from a hundred thousand on", () => {
    expect(count(1319)).toBe("1,319");
    expect(count(99_999)).toBe("99,999");
    expect(count(100_000)).toBe("100 k");
    expect(count(2_110_000)).toBe("2.11 M");
    expect(count(999_600)).toBe("1.00 M");
  });

  it("says one run and many runs", () => {
    expect(plural(1, "run")).toBe("1 run");
    expect(plural(0, "run")).toBe("0 runs");
    expect(plural(2, "try", "tries")).toBe("2 tries");
  });

  it("writes rewards with a true minus", () => {
    expect(reward(1)).toBe("1.00");
    expect(reward(-0.5)).toBe("−0.50");
    expect(reward(0.52512, 3)).toBe("0.525");
  });

  it("keeps cents readable at every size", () => {
    expect(money(0.01867)).toBe("$0.0187");
    expect(money(1.305)).toBe("$1.30");
    expect(money(0.00001)).toBe("<$0.0001");
    expect(money(0)).toBe("$0.00");
  });

  it("writes sizes in decimal units", () => {
    expect(bytes(512)).toBe("512 B");
    expect(bytes(31_400_000)).toBe("31.4 MB");
    expect(bytes(262_144)).toBe("262 kB");
  });

  it("writes durations in two units at most", () => {
    expect(duration(0.42)).toBe("0.4 s");
    expect(duration(41.2)).toBe("41 s");
    expect(duration(59.7)).toBe("1 m 0 s");
    expect(duration(103)).toBe("1 m 43 s");
    expect(duration(11_520)).toBe("3 h 12 m");
    expect(duration(187_200)).toBe("2 d 4 h");
  });

  it("never gives a negative time between two instants", () => {
    expect(between("2026-11-30T15:00:00.000002Z", "2026-11-30T15:00:00Z")).toBe(0);
    expect(between("2026-11-30T15:00:00Z", null)).toBeNull();
  });

  it("tells the time the shorter the nearer", () => {
    const now = new Date(2026, 10, 30, 16, 0, 0);
    const at = (ms: number) => new Date(now.getTime() - ms).toISOString();
    expect(when(at(5_000), now)).toBe("just now");
    expect(when(at(21 * 60_000), now)).toBe("21 minutes ago");
    expect(when(at(2 * 3_600_000), now)).toBe("14:00");
    expect(when(new Date(2026, 10, 28, 14, 2).toISOString(), now)).toBe("28 Nov 14:02");
    expect(when(new Date(2025, 10, 28, 14, 2).toISOString(), now)).toBe("28 Nov 2025");
  });

  it("shortens digests and ids and reads both spellings of an id", () => {
    expect(digest(`sha256:${"9f2c41d07be8".padEnd(64, "0")}`)).toBe("sha256:9f2c41d07be8");
    expect(shortId("4f0b6a1c-0000-4000-8000-000000000000")).toBe("4f0b6a1c");
    expect(dashed("4F0B6A1C000040008000000000000000")).toBe("4f0b6a1c-0000-4000-8000-000000000000");
    expect(isUuid("4f0b6a1c000040008000000000000000")).toBe(true);
    expect(isUuid("gsm8k")).toBe(false);
  });
});

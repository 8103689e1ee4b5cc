import { describe, expect, it } from "vitest";
import { daysOf } from "./openings";

/** A moment by the clock of whoever runs the test, as the API would tell it. */
function local(day: number, hour: number, minute = 0): string {
  return new Date(2026, 5, day, hour, minute).toISOString();
}

describe("daysOf", () => {
  const now = new Date(2026, 5, 1, 15, 0).getTime();

  it("draws each opening into its day, and one over midnight into both", () => {
    const days = daysOf(
      [
        { starts_at: local(1, 22, 30), ends_at: local(2, 1) },
        { starts_at: local(2, 12), ends_at: local(2, 13, 15) },
      ],
      now,
    );
    expect(days).toHaveLength(14);
    expect(days[0]?.open).toEqual([{ from: 22.5, to: 24 }]);
    expect(days[1]?.open).toEqual([
      { from: 0, to: 1 },
      { from: 12, to: 13.25 },
    ]);
    expect(days[1]?.said).toBe("0:00 to 1:00, 12:00 to 13:15");
    expect(days[2]?.said).toBe("closed");
  });

  it("fills the days within a long one", () => {
    const days = daysOf([{ starts_at: local(2, 6), ends_at: local(4, 6) }], now);
    expect(days.slice(0, 5).map(({ open }) => open)).toEqual([
      [],
      [{ from: 6, to: 24 }],
      [{ from: 0, to: 24 }],
      [{ from: 0, to: 6 }],
      [],
    ]);
  });
});

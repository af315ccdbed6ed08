import { beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../api/client";
import { unfinished } from "./memory";
import { Uploader } from "./uploader";

const SIZE = 10 * 1024 ** 2;
const WISH = { taskset: null, name: "sums", format: "" };
/** A server that counts bytes, and what the next parts meet. */
const server = { received: 0, offsets: [] as number[], faults: [] as (Error | "hold")[], release: () => {} };

vi.mock("../api/client", async (real) => ({
  ...(await real<Record<string, unknown>>()),
  api: vi.fn(() => Promise.resolve({ id: "u1", filename: "a.csv", size_bytes: SIZE, part_bytes: 8 * 1024 ** 2, received_bytes: server.received, expires_at: "" })),
}));
vi.mock("./putPart", () => ({
  putPart: vi.fn(async (_id: string, offset: number, part: Blob) => {
    server.offsets.push(offset);
    const fault = server.faults.shift();
    if (fault instanceof Error) throw fault;
    if (fault === "hold") await new Promise<void>((resolve) => (server.release = resolve));
    return (server.received = offset + part.size);
  }),
}));

const store = new Map<string, string>();
vi.stubGlobal("localStorage", { getItem: (key: string) => store.get(key) ?? null, setItem: (key: string, value: string) => store.set(key, value) });

const file = () => new File([new Uint8Array(SIZE)], "a.csv");
const cut = () => new ApiError(0, "cut", "The connection was lost.");
const PART = 4 * 1024 ** 2;

beforeEach(() => {
  Object.assign(server, { received: 0, offsets: [], faults: [] });
  store.clear();
});

describe("a file on its way", () => {
  it("goes in parts and is whole at the end", async () => {
    const upload = new Uploader(file(), WISH);
    await upload.start();
    expect(upload.progress).toMatchObject({ state: "whole", sent: SIZE });
    expect(server.offsets).toEqual([0, PART, 2 * PART]);
  });

  it("waits when the connection is cut, is remembered, and goes on with what is missing", async () => {
    server.faults = [new ApiError(502, "unknown", "bad gateway")];
    server.received = 0;
    const upload = new Uploader(file(), WISH);
    await upload.start();
    expect(upload.progress.state).toBe("waiting");
    expect(unfinished()).toMatchObject([{ id: "u1", filename: "a.csv", received: 0 }]);
    server.received = PART;
    await upload.resume();
    expect(server.offsets).toEqual([0, PART, 2 * PART]);
    expect(upload.progress.state).toBe("whole");
  });

  it("believes the server where an answer was lost", async () => {
    server.faults = [new ApiError(409, "conflict", "", null, [], { received_bytes: PART })];
    const upload = new Uploader(file(), WISH);
    await upload.start();
    expect(server.offsets).toEqual([0, PART, 2 * PART]);
  });

  it("stays paused when the pause comes while it asks where to go on", async () => {
    server.faults = [cut()];
    const upload = new Uploader(file(), WISH);
    await upload.start();
    const going = upload.resume();
    upload.pause();
    await going;
    expect(upload.progress.state).toBe("paused");
    expect(server.offsets).toEqual([0]);
  });

  it("refuses another file under the same name, after a reload", async () => {
    server.faults = [cut()];
    const upload = new Uploader(file(), WISH);
    await upload.start();
    upload.pause();
    const [known] = unfinished();
    const other = new Uploader(new File([new Uint8Array(SIZE).fill(1)], "a.csv"), WISH);
    await other.start(known ?? null);
    expect(other.progress.state).toBe("failed");
    expect((other.progress.error as Error).message).toContain("another file");
  });
});

import type { EnvironmentVersionOut } from "../api/types";

/** A worker is at it, or will be. */
export const busy = (version: EnvironmentVersionOut | null | undefined) =>
  version !== null && version !== undefined && ["pending", "building", "probing"].includes(version.status);

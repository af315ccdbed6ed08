/** Where `g x`, the side bar and the command menu lead. */
import type { IconName } from "../ui/Icon";

export const PLACES: { to: string; text: string; icon: IconName; keys?: string }[] = [
  { to: "/", text: "Home", icon: "home", keys: "g h" },
  { to: "/tasksets", text: "Tasksets", icon: "taskset", keys: "g t" },
  { to: "/environments", text: "Environments", icon: "environment", keys: "g e" },
  { to: "/jobs", text: "Jobs", icon: "jobs", keys: "g j" },
  { to: "/models", text: "Models", icon: "model", keys: "g m" },
  { to: "/settings/api-keys", text: "API keys", icon: "key", keys: "g s" },
  { to: "/settings/shares", text: "Share links", icon: "link" },
];

/** Each page's REST, SDK, `proctor` and `hud` command, ready to copy, with this server's address already in them. */
import { Command } from "./Copy";
import { Icon } from "./Icon";
import { Popover } from "./Overlays";

export interface Snippet {
  label: string;
  code: string;
}

/** What both SDKs and commands, HUD's and our own, read from the environment to talk to this server. */
export const connectLines = (key: string) =>
  [
    ["HUD_API_KEY", key],
    ["HUD_API_URL", location.origin],
    ["HUD_TELEMETRY_URL", `${location.origin}/v3/api`],
    ["HUD_GATEWAY_URL", `${location.origin}/gateway`],
    ["HUD_RUNTIME_URL", location.origin],
    ["HUD_RL_URL", `${location.origin}/rl`],
    ["HUD_WEB_URL", location.origin],
    ["PROCTOR_API_KEY", key],
    ["PROCTOR_URL", location.origin],
  ]
    .map(([name, value]) => `export ${name}=${value}`)
    .join("\n");

export const rest = (path: string, method = "GET", body?: string): Snippet => ({
  label: "REST",
  code: `curl ${method === "GET" ? "" : `-X ${method} `}${location.origin}${path} \\\n  -H "Authorization: Bearer $HUD_API_KEY"${body ? ` \\\n  -H "Content-Type: application/json" -d '${body}'` : ""}`,
});
export const sdk = (code: string): Snippet => ({ label: "Python SDK", code });
export const own = (code: string): Snippet => ({ label: "proctor command", code });
export const hud = (code: string): Snippet => ({ label: "hud command", code });

export function Snippets({ snippets }: { snippets: Snippet[] }) {
  return (
    <div className="grid gap-2 p-2">
      <h2 className="sub">Once, in your shell (a key is made under API keys)</h2>
      <Command code={connectLines("…")} label="environment lines" />
      {snippets.map((snippet, index) => (
        <div key={index} className="grid gap-1">
          <h2 className="sub">{snippet.label}</h2>
          <Command code={snippet.code} label={snippet.label} />
        </div>
      ))}
    </div>
  );
}

export function UseFromCode({ snippets }: { snippets: Snippet[] }) {
  return (
    <Popover
      label="Use from code"
      button={
        <button type="button" className="btn">
          <Icon name="code" /> Use from code
        </button>
      }
    >
      <Snippets snippets={snippets} />
    </Popover>
  );
}

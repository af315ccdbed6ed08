/** A version as a file, in each format, with what it can't carry. The server is asked first, so that a refusal is told here and saves nothing. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api, apiText, chosenTeam } from "../api/client";
import { Icon } from "../ui/Icon";
import { Failed } from "../ui/Notices";
import { Dialog, Menu } from "../ui/Overlays";
import { downloadPath, FORMATS } from "./formats";

interface Props {
  /** The address of the version's download. */
  path: string;
  what: string;
  /** The address of the HUD export, where there is one. */
  hud?: { href: string; filename: string } | undefined;
}

export function DownloadMenu({ path, what, hud }: Props) {
  const download = useMutation({ mutationFn: (format: string) => ask(downloadPath(path, format, chosenTeam())), onSuccess: (address) => save(address) });
  const items = FORMATS.map(({ name, title, about }) => ({ text: <Format title={title} about={about} />, run: () => download.mutate(name) }));
  return (
    <>
      <Menu
        label="Download"
        button={
          <button type="button" className="btn" disabled={download.isPending}>
            <Icon name="download" /> Download <Icon name="down" small />
          </button>
        }
        head={<p className="px-2 pb-1 text-12 text-text-2">{what}. Any of these is imported to the same digest; none carries history and tags.</p>}
        items={hud ? [...items, null, { text: <Format title="HUD export" about="What the hud command and SDK read." />, run: () => save(hud.href, hud.filename) }] : items}
      />
      {download.error && (
        <Dialog open onClose={() => download.reset()} title="Nothing was downloaded">
          <Failed what="This file can't be made" error={download.error} />
        </Dialog>
      )}
    </>
  );
}

function Format({ title, about }: { title: string; about: string }): ReactNode {
  return (
    <span className="block py-1">
      <span className="block">{title}</span>
      <span className="block text-12 text-text-3">{about}</span>
    </span>
  );
}

/** The same address when the server would answer with a file. A refusal has no body under HEAD, so it is asked for once more. */
async function ask(address: string): Promise<string> {
  try {
    await apiText(address, { method: "HEAD" });
  } catch {
    await api(address);
  }
  return address;
}

function save(address: string, filename = "") {
  const link = document.createElement("a");
  link.href = address;
  link.download = filename;
  document.body.append(link);
  link.click();
  link.remove();
}

/** Takes a file from anywhere: chosen with the button, dropped on any place of the page, or pasted. Says what is wrong with a wrong one. */
import { useEffect, useRef, useState } from "react";
import { Icon } from "../ui/Icon";
import { ACCEPT, RIGHT, pastedName, wrongKind } from "./kinds";

export function DropZone({ onFile, label = "Choose a file" }: { onFile: (file: File) => void; label?: string }) {
  const [fault, setFault] = useState<string | null>(null);
  const take = (files: File[], isFolder = false) => {
    const why = isFolder ? "That is a folder. Pack it as a zip, then bring the zip." : faultOf(files);
    setFault(why);
    const file = files[0];
    if (why === null && file) onFile(file);
  };
  const dragging = useWholePage(take);
  return (
    <div className={`dropzone ${dragging ? "over" : ""}`}>
      <Icon name="upload" />
      <FileButton label={label} onFiles={take} />
      <p className="text-12 text-text-2">or drop it anywhere on this page, or paste rows</p>
      <p className="text-12 text-text-3">{RIGHT}</p>
      <p aria-live="polite" className="text-bad" data-fault={fault !== null || undefined}>
        {fault}
      </p>
      {dragging && (
        <div className="drop-veil" aria-hidden="true">
          Drop the file to import it
        </div>
      )}
    </div>
  );
}

/** A button that opens the system's file dialog; the input itself has the focus. */
export function FileButton({ label, onFiles }: { label: string; onFiles: (files: File[]) => void }) {
  return (
    <label className="btn file">
      {label}
      <input
        type="file"
        className="sr-only"
        accept={ACCEPT}
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
    </label>
  );
}

function faultOf(files: File[]): string | null {
  const file = files[0];
  if (!file) return "There was no file in it.";
  if (files.length > 1) return `${files.length} files at once: bring one at a time.`;
  if (file.size === 0) return `${file.name} is empty.`;
  return wrongKind(file.name);
}

const isTyping = (target: EventTarget | null) => target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

/** Whether files are being dragged over the page; drops and pastes go to `take`. */
function useWholePage(take: (files: File[], isFolder?: boolean) => void): boolean {
  const [over, setOver] = useState(false);
  const given = useRef(take);
  useEffect(() => {
    given.current = take;
  });
  useEffect(() => {
    const stop = new AbortController();
    const listen = <Name extends keyof WindowEventMap>(name: Name, run: (event: WindowEventMap[Name]) => void) => window.addEventListener(name, run, { signal: stop.signal });
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    listen("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    });
    listen("dragleave", (event) => event.relatedTarget === null && setOver(false));
    listen("drop", (event) => {
      setOver(false);
      if (!hasFiles(event)) return;
      event.preventDefault();
      const isFolder = event.dataTransfer?.items[0]?.webkitGetAsEntry()?.isDirectory ?? false;
      given.current([...(event.dataTransfer?.files ?? [])], isFolder);
    });
    listen("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (files.length) given.current(files);
      else if (!isTyping(event.target) && text.trim()) given.current([new File([text], pastedName(text), { type: "text/plain" })]);
    });
    return () => stop.abort();
  }, []);
  return over;
}

/** The first step of an import: a file, chosen, dropped or pasted, into a new taskset or one that is there. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useNavigate, useParams } from "react-router";
import { api } from "../api/client";
import { tasksetQuery } from "../api/queries";
import type { ImportOut, TasksetOut } from "../api/types";
import { Load } from "../shell/Load";
import { Failed } from "../ui/Notices";
import { PageHead } from "../ui/Page";
import { setUpload, useProgress, useUpload } from "./currentUpload";
import { DropZone } from "./DropZone";
import { FORMATS, nameFrom } from "./kinds";
import { forget } from "./memory";
import type { Unfinished } from "./memory";
import { importsOf, stepPath } from "./paths";
import { Stepper } from "./Stepper";
import { UnfinishedImports, UnfinishedUploads } from "./Unfinished";
import { UploadCard } from "./UploadCard";
import type { Wish } from "./uploader";
import { Uploader } from "./uploader";

export default function FilePage() {
  const { ref } = useParams();
  const set = useQuery({ ...tasksetQuery(ref ?? ""), enabled: ref !== undefined });
  if (ref === undefined) return <FileStep set={null} />;
  if (!set.data) return <Load what="taskset" error={set.error} retry={() => void set.refetch()} />;
  return <FileStep set={set.data} />;
}

interface Whole {
  id: string;
  wish: Wish;
}

function FileStep({ set }: { set: TasksetOut | null }) {
  const [name, setName] = useState<string | null>(null);
  const [format, setFormat] = useState("");
  const [suggested, setSuggested] = useState("");
  const running = useUpload();
  const upload = running?.wish.taskset === (set?.id ?? null) ? running : null;
  const begin = useBegin();
  const shownName = name ?? upload?.wish.name ?? suggested;
  const wishOf = (filename: string): Wish => ({ taskset: set?.id ?? null, name: set ? "" : (name ?? nameFrom(filename)), format });
  const take = (file: File, known: Unfinished | null = null) => {
    begin.reset();
    setSuggested(nameFrom(file.name));
    const next = new Uploader(file, known ?? wishOf(file.name));
    setUpload(next);
    void next.start(known);
  };
  const progress = useProgress(upload);
  const { mutate, isIdle } = begin;
  const wholeId = progress?.state === "whole" ? (upload?.id ?? null) : null;
  useEffect(() => {
    if (wholeId !== null && isIdle && upload) mutate({ id: wholeId, wish: upload.wish });
  }, [wholeId, isIdle, mutate, upload]);
  const again = () => {
    const id = wholeId ?? begin.variables?.id;
    if (id) begin.mutate({ id, wish: { taskset: set?.id ?? null, name: shownName, format } });
  };
  return (
    <main id="main" className="page fill">
      <PageHead
        title={set ? `Import into ${set.title}` : "Import a new taskset"}
        fullTitle="Import"
        trail={[{ to: "/tasksets", text: "Tasksets" }, ...(set ? [{ to: `/tasksets/${set.id}`, text: set.title }, { to: importsOf(set.id), text: "Imports" }] : [])]}
      />
      <Stepper step="file" found={null} />
      <div className="import-body">
        <div className="grid content-start gap-4">
          {upload ? (
            <UploadCard
              upload={upload}
              onDrop={() => {
                void upload.drop().catch(() => undefined);
                setUpload(null);
                begin.reset();
              }}
            />
          ) : (
            <DropZone onFile={take} />
          )}
          {begin.error && <Failed what="Could not begin the import" error={begin.error} retry={again} />}
          <div className="grid gap-3 md:grid-cols-2">
            {!set && (
              <label className="grid content-start gap-1 font-medium">
                Name of the taskset
                <input className="box" value={shownName} maxLength={255} placeholder="the file's name" onChange={(event) => setName(event.target.value)} />
                <span className="text-12 font-normal text-text-3">One of this name that is there gets the tasks.</span>
              </label>
            )}
            <label className="grid content-start gap-1 font-medium">
              Format
              <select className="box" value={format} onChange={(event) => setFormat(event.target.value)}>
                <option value="">found out from the file</option>
                {FORMATS.map(([value, text]) => (
                  <option key={value} value={value}>
                    {text}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <UnfinishedUploads taskset={set?.id ?? null} onContinue={(known, file) => (file ? take(file, known) : begin.mutate({ id: known.id, wish: known }))} />
          {!set && <UnfinishedImports />}
        </div>
        <Templates />
      </div>
    </main>
  );
}

/** From the whole upload to the import, then on to its next step. */
function useBegin() {
  const navigate = useNavigate();
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, wish }: Whole) =>
      api<ImportOut>("/api/imports", {
        method: "POST",
        body: { upload_id: id, format: wish.format || null, ...(wish.taskset ? { taskset: wish.taskset } : { name: wish.name }) },
      }),
    onSuccess: (found, { id }) => {
      forget(id);
      setUpload(null);
      void client.invalidateQueries({ queryKey: ["imports"] });
      void navigate(stepPath(found, "map"));
    },
  });
}

function Templates() {
  return (
    <section className="card self-start" aria-label="Templates">
      <header>
        <h2>A file to start from</h2>
      </header>
      <ul className="grid gap-1 p-3.5">
        {FORMATS.map(([kind, text]) => (
          <li key={kind}>
            <a href={`/api/imports/templates/${kind}`} download>
              {text} template
            </a>
          </li>
        ))}
      </ul>
      <p className="border-t border-line px-3.5 py-2 text-12 text-text-2">
        Large files come in parts: a lost connection or a reload costs nothing that is here. Nothing changes in a taskset before you commit; what you leave is dropped after 24 hours.
      </p>
    </section>
  );
}

/** What was begun and not finished: uploads that this browser knows of (the file is asked for again, only what is missing is sent), and
 * imports that wait on the server. */
import { useState } from "react";
import { Link } from "react-router";
import { bytes, plural } from "../ui/formats";
import { Time } from "../ui/Time";
import { useRows } from "../ui/useRows";
import { FileButton } from "./DropZone";
import { forget, unfinished } from "./memory";
import type { Unfinished } from "./memory";
import { placeOf } from "./paths";
import { unfinishedQuery } from "./queries";
import { ImportState } from "./words";

interface Props {
  taskset: string | null;
  /** The same file again; null when all of it is there already. */
  onContinue: (known: Unfinished, file: File | null) => void;
}

export function UnfinishedUploads({ taskset, onContinue }: Props) {
  const [known, setKnown] = useState(() => unfinished().filter((one) => one.taskset === taskset));
  if (!known.length) return null;
  return (
    <section className="card" aria-label="Unfinished uploads">
      <header>
        <h2>Begun and not finished</h2>
      </header>
      <ul className="grid">
        {known.map((one) => (
          <li key={one.id} className="flex flex-wrap items-center gap-2 border-b border-line px-3.5 py-2 last:border-0">
            <span className="grow">
              {one.filename}, {share(one)} % of {bytes(one.size)}
            </span>
            {one.received < one.size ? (
              <FileButton label={`Continue ${one.filename}, ${share(one)} %`} onFiles={(files) => files[0] && onContinue(one, files[0])} />
            ) : (
              <button type="button" className="btn" onClick={() => onContinue(one, null)}>
                Go on with {one.filename}
              </button>
            )}
            <button
              type="button"
              className="btn ghost"
              onClick={() => {
                forget(one.id);
                setKnown(known.filter((other) => other.id !== one.id));
              }}
            >
              Forget
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const share = (one: Unfinished) => Math.floor((100 * one.received) / Math.max(1, one.size));

export function UnfinishedImports() {
  const open = useRows(unfinishedQuery);
  if (!open.rows.length) return null;
  return (
    <section className="card" aria-label="Unfinished imports">
      <header>
        <h2>Waiting to be finished</h2>
      </header>
      <ul className="grid">
        {open.rows.map((one) => (
          <li key={one.id} className="flex flex-wrap items-center gap-2 border-b border-line px-3.5 py-2 last:border-0">
            <Link className="grow" to={placeOf(one)}>
              {one.filename} into {one.name}
            </Link>
            <ImportState found={one} />
            {one.errors_total ? <span className="text-12 text-text-2 tnum">{plural(one.errors_total, "error")}</span> : null}
            <span className="text-12 text-text-3">
              <Time at={one.created_at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

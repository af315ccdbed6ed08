/** An upload on its way: how far, how fast, how long still; pause, go on, give up. Says when the connection is lost and when it is tried again. */
import { ApiError } from "../api/client";
import { bytes, duration } from "../ui/formats";
import { Icon } from "../ui/Icon";
import { Failed } from "../ui/Notices";
import { State } from "../ui/State";
import { useNow } from "../ui/Time";
import { useProgress } from "./currentUpload";
import { ProgressBar } from "./ProgressBar";
import type { Uploader } from "./uploader";

export function UploadCard({ upload, onDrop }: { upload: Uploader; onDrop: () => void }) {
  const progress = useProgress(upload);
  const now = useNow();
  if (!progress) return null;
  const { state, sent, speed, retryAt, error } = progress;
  const size = upload.file.size;
  const leftS = speed ? (size - sent) / speed : null;
  const gone = error instanceof ApiError && error.status === 404;
  return (
    <section className="card" aria-label="Upload">
      <header>
        <h2 className="truncate">{upload.file.name}</h2>
        <span className="text-12 text-text-3 tnum">{bytes(size)}</span>
        <div className="acts">
          {(state === "sending" || state === "waiting") && (
            <button type="button" className="btn" onClick={() => upload.pause()}>
              Pause
            </button>
          )}
          {state === "paused" && (
            <button type="button" className="btn" onClick={() => void upload.resume()}>
              <Icon name="play" /> Resume
            </button>
          )}
          <button type="button" className="btn ghost" onClick={onDrop}>
            Discard
          </button>
        </div>
      </header>
      <div className="grid gap-2 p-3.5">
        <ProgressBar label={`Upload of ${upload.file.name}`} value={sent} max={size} />
        <p className="flex flex-wrap gap-x-3 text-12 text-text-2 tnum">
          <span>
            {bytes(sent)} of {bytes(size)}
          </span>
          {state === "sending" && speed !== null && <span>{bytes(speed)} a second</span>}
          {state === "sending" && leftS !== null && <span>{duration(leftS)} left</span>}
          {state === "paused" && <span>Paused. What is here stays for 24 hours.</span>}
          {state === "whole" && <span>All here, looking into it</span>}
        </p>
        {state === "waiting" && (
          <p className="flex flex-wrap items-center gap-2" role="status">
            <State kind="warn">Connection lost</State>
            <span className="tnum">Trying again in {Math.max(0, Math.ceil(((retryAt ?? 0) - now) / 1000))} s; nothing that is here is sent twice.</span>
            <button type="button" className="btn" onClick={() => void upload.resume()}>
              Try now
            </button>
          </p>
        )}
      </div>
      {state === "failed" && <Failed what={gone ? "The upload is not there any more; begin again" : "Could not upload the file"} error={error} retry={gone ? undefined : () => void upload.resume()} />}
    </section>
  );
}

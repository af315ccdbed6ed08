/** One part of a file on its way, with how much of it has left: the one request that is not made with `fetch`. */
import { ApiError, address, errorFrom, writeHeaders } from "../api/client";

export const CUT = "cut";

/** Resolves to how many bytes the server has now. Rejects with ApiError: code `cut` when the connection broke, `aborted` when asked to stop. */
export function putPart(id: string, offset: number, part: Blob, onProgress: (sent: number) => void, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", address(`/api/uploads/${id}`, { offset }));
    Object.entries({ ...writeHeaders(), "Content-Type": "application/octet-stream" }).forEach(([name, value]) => request.setRequestHeader(name, value));
    request.responseType = "json";
    request.upload.onprogress = (event) => onProgress(event.loaded);
    request.onload = () => {
      if (request.status < 300) resolve((request.response as { received_bytes: number }).received_bytes);
      else reject(errorFrom(request.status, request.response));
    };
    request.onerror = () => reject(new ApiError(0, CUT, "The connection was lost."));
    request.onabort = () => reject(new ApiError(0, "aborted", "The upload was paused."));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(part);
  });
}

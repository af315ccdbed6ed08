/** The wire models by name; all of them are generated from `proctor.wire`. */
import type { components } from "./wire";

type Wire = components["schemas"];
export type AgentIn = Wire["AgentIn"];
export type AnalysisOut = Wire["AnalysisOut"];
export type CheckedEnvironment = Wire["CheckedEnvironment"];
export type CheckFinding = Wire["CheckFinding"];
export type ChecksPage = Wire["ChecksPage"];
export type DuplicatePair = Wire["DuplicatePair"];
export type LeakPlace = Wire["LeakPlace"];
export type SchemaPolicy = Wire["AnalysisSettings"]["schema_policy"];
export type Blame = NonNullable<Wire["RunRow"]["blame"]>;
export type CancelOut = Wire["CancelOut"];
export type ClientFrame = Wire["ClientFrame"];
export type Counts = Wire["Counts"];
export type DiffKind = Wire["DiffRow"]["kind"];
export type DiffRow = Wire["DiffRow"];
export type DiffTask = Wire["DiffTask"];
export type DraftChange = Wire["DraftChange"];
export type DraftConflict = Wire["DraftConflict"];
export type DraftEdit = Wire["DraftEdit"];
export type DraftOut = Wire["DraftOut"];
export type FieldChange = Wire["FieldChange"];
export type DiffPage = Wire["DiffPage"];
export type PurgeOut = Wire["PurgeOut"];
export type RedactOut = Wire["RedactOut"];
export type TagOut = Wire["TagOut"];
export type TaskHistoryRow = Wire["TaskHistoryRow"];
export type EnvironmentOut = Wire["EnvironmentOut"];
export type SessionOut = Wire["SessionOut"];
export type VariableOut = Wire["VariableOut"];
export type EnvironmentVersionOut = Wire["EnvironmentVersionOut"];
export type ErrorBody = Wire["ErrorBody"];
export type DraftBulk = Wire["DraftBulk"];
export type FacetOut = Wire["FacetOut"];
export type FacetsOut = Wire["FacetsOut"];
export type TaskResult = Wire["TaskResult"];
export type FailureGroup = Wire["FailureGroup"];
export type CellSource = Wire["CellSource"];
export type ErrorGroup = Wire["ErrorGroup"];
export type FileOptions = Wire["FileOptions"];
export type FolderOutcome = Wire["FolderOutcome"];
export type ImportMode = NonNullable<Wire["ImportCommit"]["mode"]>;
export type ImportOut = Wire["ImportOut"];
export type JobChange = Wire["JobChange"];
export type JobIn = Wire["JobIn"];
export type JobOut = Wire["JobOut"];
export type LastJobs = Wire["LastJobs"];
export type KeyIn = Wire["KeyIn"];
export type KeyMade = Wire["KeyMade"];
export type KeyOut = Wire["KeyOut"];
export type Mapping = Wire["Mapping"];
export type Matrix = Wire["Matrix"];
export type MatrixTask = Wire["MatrixTask"];
export type Me = Wire["Me"];
export type ModelEndpointIn = Wire["ModelEndpointIn"];
export type ModelEndpointOut = Wire["ModelEndpointOut"];
export type PlanCounts = Wire["PlanCounts"];
export type PreviewOut = Wire["PreviewOut"];
export type PreviewRow = Wire["PreviewRow"];
export type TasksetPullIn = Wire["TasksetPullIn"];
export type Problem = Wire["Problem"];
export type RowError = Wire["RowError"];
export type RowOut = Wire["RowOut"];
export type RunOut = Wire["RunOut"];
export type RunRow = Wire["RunRow"];
/** Fields that do not apply may be left out of a frame. */
export type ServerFrame = Pick<Wire["ServerFrame"], "id"> & Partial<Wire["ServerFrame"]>;
export type LiveEvent = Wire["StepEvent"] | Wire["RunEvent"] | Wire["JobEvent"] | Wire["BuildEvent"] | Wire["BuildLogEvent"];
export type ShareIn = Wire["ShareIn"];
export type ShareMade = Wire["ShareMade"];
export type ShareOut = Wire["ShareOut"];
export type SharedTaskset = Wire["SharedTaskset"];
export type Step = Wire["Step"];
export type Steps = Wire["Steps"];
export type TaskOut = Wire["TaskOut"];
export type TaskRow = Wire["TaskRow"];
export type TasksetOut = Wire["TasksetOut"];
export type TasksetRef = Wire["TasksetRef"];
export type TemplateOut = Wire["TemplateOut"];
export type UploadSession = Wire["UploadSession"];
export type UploadOut = Wire["UploadOut"];
export type VersionOut = Wire["VersionOut"];

/** What every listing has. */
export interface PageOf<T> {
  items: T[];
  next_cursor: string | null;
  total?: number | null;
}

/** `Page[T]` of the wire. */
export interface Page<T> {
  items: T[];
  next_cursor: string | null;
  total: number | null;
}

/** `POST /api/jobs/plan`, as docs/reference/api.md gives it. */
export interface PlanOut {
  runs: number;
  tasks: number;
  sandbox: string | null;
  sandbox_note: string | null;
  problems: Problem[];
}

/** One item of `GET /api/workers`. */
export interface WorkerOut {
  id: string;
  host: string;
  slots: number;
  busy: number;
  heartbeat_at: string | null;
  sandbox: string | null;
  sandbox_note: string | null;
}
export type PullOut = Wire["PullOut"];
export type TaskAppCheck = Wire["TaskAppCheck"];
export type TaskAppKeyMade = Wire["TaskAppKeyMade"];
export type TaskAppKeyOut = Wire["TaskAppKeyOut"];
export type TaskAppOut = Wire["TaskAppOut"];
export type TaskAppReport = Wire["TaskAppReport"];

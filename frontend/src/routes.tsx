/** Every URL of the page, those that the HUD CLI prints included; each page is a chunk of its own. */
import { Navigate, useLocation, useParams } from "react-router";
import type { RouteObject } from "react-router";
import { Shell } from "./shell/Shell";
import { Broken, NotFound } from "./shell/Errors";
import { dashed } from "./ui/formats";
import { SharedFrame } from "./shares/SharedFrame";
import { chunk } from "./ui/chunk";

const Home = chunk(() => import("./home/Home"));
const SignIn = chunk(() => import("./accounts/SignIn"));
const ApiKeys = chunk(() => import("./accounts/ApiKeys"));
const Tasksets = chunk(() => import("./tasksets/Tasksets"));
const Taskset = chunk(() => import("./tasksets/Taskset"));
const EditPage = chunk(() => import("./tasksets/EditPage"));
const DraftPage = chunk(() => import("./tasksets/DraftPage"));
const DiffPage = chunk(() => import("./tasksets/DiffPage"));
const Task = chunk(() => import("./tasksets/Task"));
const ImportFile = chunk(() => import("./imports/FilePage"));
const ImportStep = chunk(() => import("./imports/StepPage"));
const ImportReport = chunk(() => import("./imports/ReportPage"));
const Jobs = chunk(() => import("./runs/Jobs"));
const Job = chunk(() => import("./runs/Job"));
const StartJob = chunk(() => import("./runs/StartJob"));
const Run = chunk(() => import("./runs/Run"));
const Environments = chunk(() => import("./environments/Environments"));
const Environment = chunk(() => import("./environments/Environment"));
const Shares = chunk(() => import("./shares/Shares"));
const SharedSet = chunk(() => import("./shares/SharedSet"));
const SharedTask = chunk(() => import("./shares/SharedTask"));
const Models = chunk(() => import("./models/Models"));

/** Hex and dashed ids name the same object; the page has one address for it. */
function OneSpelling({ children }: { children: React.ReactNode }) {
  const { id = "" } = useParams();
  const { pathname, search, hash } = useLocation();
  const proper = dashed(id);
  return proper === id ? children : <Navigate to={pathname.replace(id, proper) + search + hash} replace />;
}
const byId = (element: React.ReactNode) => <OneSpelling>{element}</OneSpelling>;

export const routes: RouteObject[] = [
  { path: "/sign-in", element: <SignIn /> },
  {
    path: "/share/:token",
    element: <SharedFrame />,
    errorElement: <Broken />,
    children: [
      { index: true, element: <SharedSet /> },
      { path: "tasks/:slug", element: <SharedTask /> },
    ],
  },
  {
    path: "/",
    element: <Shell />,
    errorElement: <Broken />,
    children: [
      { index: true, element: <Home /> },
      { path: "tasksets", element: <Tasksets /> },
      { path: "tasksets/import", element: <ImportFile /> },
      { path: "tasksets/import/:import", element: <ImportReport /> },
      { path: "tasksets/import/:import/:step", element: <ImportStep /> },
      { path: "tasksets/:ref/imports/new", element: <ImportFile /> },
      { path: "tasksets/:ref/imports/:import", element: <ImportReport /> },
      { path: "tasksets/:ref/imports/:import/:step", element: <ImportStep /> },
      { path: "tasksets/:ref/:tab?", element: <Taskset /> },
      { path: "tasksets/:ref/edit", element: <EditPage /> },
      { path: "tasksets/:ref/draft", element: <DraftPage /> },
      { path: "tasksets/:ref/diff/:pair", element: <DiffPage /> },
      { path: "tasksets/:ref/tasks/:slug", element: <Task /> },
      { path: "jobs", element: <Jobs /> },
      { path: "jobs/new", element: <StartJob /> },
      { path: "jobs/:id", element: byId(<Job tab="matrix" />) },
      { path: "jobs/:id/runs", element: byId(<Job tab="runs" />) },
      { path: "jobs/:id/failures", element: byId(<Job tab="failures" />) },
      { path: "jobs/:id/setup", element: byId(<Job tab="setup" />) },
      { path: "trace/:id", element: byId(<Run />) },
      { path: "environments", element: <Environments /> },
      { path: "environments/:ref", element: <Environment tab="versions" /> },
      { path: "environments/:ref/versions/:number", element: <Environment tab="versions" /> },
      { path: "environments/:ref/variables", element: <Environment tab="variables" /> },
      { path: "environments/:ref/sessions", element: <Environment tab="sessions" /> },
      { path: "models", element: <Models /> },
      { path: "models/:id", element: <Models /> },
      { path: "settings/api-keys", element: <ApiKeys /> },
      { path: "settings/shares", element: <Shares /> },
      { path: "settings", element: <Navigate to="/settings/api-keys" replace /> },
      { path: "project/api-keys", element: <Navigate to="/settings/api-keys" replace /> },
      { path: "*", element: <NotFound /> },
    ],
  },
];

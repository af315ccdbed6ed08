/** Every URL of the page, those that the HUD CLI prints included; each page is a chunk of its own. */
import { Navigate, useLocation, useParams } from "react-router";
import type { ComponentType } from "react";
import type { RouteObject } from "react-router";
import { Shell } from "./shell/Shell";
import { Broken, NotFound } from "./shell/Errors";
import { dashed } from "./ui/formats";
import { SharedFrame } from "./shares/SharedFrame";
import { chunk } from "./ui/chunk";
import { Skeleton } from "./ui/Notices";

/** A page of its own chunk. */
const page = <Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>) => chunk(load, <main id="main"><Skeleton /></main>);

const Home = page(() => import("./home/Home"));
const SignIn = page(() => import("./accounts/SignIn"));
const ApiKeys = page(() => import("./accounts/ApiKeys"));
const Tasksets = page(() => import("./tasksets/Tasksets"));
const Taskset = page(() => import("./tasksets/Taskset"));
const EditPage = page(() => import("./tasksets/EditPage"));
const DraftPage = page(() => import("./tasksets/DraftPage"));
const DiffPage = page(() => import("./tasksets/DiffPage"));
const Task = page(() => import("./tasksets/Task"));
const ImportFile = page(() => import("./imports/FilePage"));
const ImportStep = page(() => import("./imports/StepPage"));
const ImportReport = page(() => import("./imports/ReportPage"));
const Jobs = page(() => import("./runs/Jobs"));
const Job = page(() => import("./runs/Job"));
const StartJob = page(() => import("./runs/StartJob"));
const Run = page(() => import("./runs/Run"));
const Environments = page(() => import("./environments/Environments"));
const Environment = page(() => import("./environments/Environment"));
const Shares = page(() => import("./shares/Shares"));
const SharedSet = page(() => import("./shares/SharedSet"));
const SharedTask = page(() => import("./shares/SharedTask"));
const Models = page(() => import("./models/Models"));

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

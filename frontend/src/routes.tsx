/** Every URL of the page, those that the HUD CLI prints included; each page is a chunk of its own. */
import { lazy } from "react";
import { Navigate, useLocation, useParams } from "react-router";
import type { RouteObject } from "react-router";
import { Shell } from "./shell/Shell";
import { Broken, NotFound } from "./shell/Errors";
import { dashed } from "./ui/formats";

const Home = lazy(() => import("./home/Home"));
const SignIn = lazy(() => import("./accounts/SignIn"));
const ApiKeys = lazy(() => import("./accounts/ApiKeys"));
const Tasksets = lazy(() => import("./tasksets/Tasksets"));
const Taskset = lazy(() => import("./tasksets/Taskset"));
const Task = lazy(() => import("./tasksets/Task"));
const Jobs = lazy(() => import("./runs/Jobs"));
const Job = lazy(() => import("./runs/Job"));
const StartJob = lazy(() => import("./runs/StartJob"));
const Run = lazy(() => import("./runs/Run"));
const Environments = lazy(() => import("./environments/Environments"));
const Environment = lazy(() => import("./environments/Environment"));
const Models = lazy(() => import("./models/Models"));

/** Hex and dashed ids name the same object; the page has one address for it. */
function OneSpelling({ children }: { children: React.ReactNode }) {
  const { id = "" } = useParams();
  const { pathname, search, hash } = useLocation();
  const proper = dashed(id);
  return proper === id ? children : <Navigate to={pathname.replace(id, proper) + search + hash} replace />;
}
const byId = (page: React.ReactNode) => <OneSpelling>{page}</OneSpelling>;

export const routes: RouteObject[] = [
  { path: "/sign-in", element: <SignIn /> },
  {
    path: "/",
    element: <Shell />,
    errorElement: <Broken />,
    children: [
      { index: true, element: <Home /> },
      { path: "tasksets", element: <Tasksets /> },
      { path: "tasksets/:ref", element: <Taskset tab="tasks" /> },
      { path: "tasksets/:ref/versions", element: <Taskset tab="versions" /> },
      { path: "tasksets/:ref/jobs", element: <Taskset tab="jobs" /> },
      { path: "tasksets/:ref/tasks/:slug", element: <Task /> },
      { path: "jobs", element: <Jobs /> },
      { path: "jobs/new", element: <StartJob /> },
      { path: "jobs/:id", element: byId(<Job tab="matrix" />) },
      { path: "jobs/:id/runs", element: byId(<Job tab="runs" />) },
      { path: "jobs/:id/failures", element: byId(<Job tab="failures" />) },
      { path: "jobs/:id/setup", element: byId(<Job tab="setup" />) },
      { path: "trace/:id", element: byId(<Run />) },
      { path: "environments", element: <Environments /> },
      { path: "environments/:ref", element: <Environment /> },
      { path: "environments/:ref/versions/:number", element: <Environment /> },
      { path: "models", element: <Models /> },
      { path: "models/:id", element: <Models /> },
      { path: "settings/api-keys", element: <ApiKeys /> },
      { path: "settings", element: <Navigate to="/settings/api-keys" replace /> },
      { path: "project/api-keys", element: <Navigate to="/settings/api-keys" replace /> },
      { path: "*", element: <NotFound /> },
    ],
  },
];

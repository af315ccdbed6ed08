/** ⌘K: actions of this page with their keys, places to go, then what the server finds by name. A pasted id goes straight there. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Dialog as RDialog } from "radix-ui";
import { useId, useState } from "react";
import type { KeyboardEvent } from "react";
import { useNavigate } from "react-router";
import { api } from "../api/client";
import type { EnvironmentOut, JobOut, Page, TasksetOut } from "../api/types";
import { isUuid } from "../ui/formats";
import { Icon } from "../ui/Icon";
import type { IconName } from "../ui/Icon";
import { boundKeys, shownKeys } from "../ui/keys";
import { PLACES } from "./places";
import { recents, setDensity, setTheme } from "./preferences";

interface Option {
  group: string;
  icon: IconName;
  text: string;
  about?: string;
  keys?: string;
  run: () => void;
}

const KIND_ICON = { taskset: "taskset", job: "jobs", run: "run", environment: "environment" } as const;

export function CommandMenu({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <RDialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <RDialog.Portal>
        <RDialog.Overlay className="veil" />
        <RDialog.Content className="dialog !p-0" aria-describedby={undefined}>
          <RDialog.Title className="sr-only">Command menu</RDialog.Title>
          <Menu onClose={onClose} />
        </RDialog.Content>
      </RDialog.Portal>
    </RDialog.Root>
  );
}

function Menu({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const found = useFound(text);
  const options = useOptions(text, found, onClose);
  const current = Math.min(at, Math.max(0, options.length - 1));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt((current + (event.key === "ArrowDown" ? 1 : options.length - 1)) % Math.max(1, options.length));
    }
    if (event.key === "Enter") {
      event.preventDefault();
      options[current]?.run();
    }
  };
  return (
    <div>
      <div className="flex items-center gap-2 border-b border-line px-3 py-2.5">
        <Icon name="search" />
        <input
          className="min-w-0 grow bg-transparent text-14 outline-none"
          role="combobox"
          aria-label="Search or run a command"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={options.length ? `${list}-${current}` : undefined}
          placeholder="Search, or paste an id or name@version"
          autoFocus
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
        <kbd>Esc</kbd>
      </div>
      <ul id={list} role="listbox" aria-label="Results" className="scroll max-h-[52dvh] p-1.5">
        {options.map((option, index) => (
          <OptionRow key={`${option.group}${option.text}${index}`} id={`${list}-${index}`} option={option} heading={options[index - 1]?.group !== option.group} on={index === current} onHover={() => setAt(index)} />
        ))}
      </ul>
      {options.length === 0 && <p className="px-4 pb-4 text-text-2">Nothing with that name. Ids, digests and name@version can be pasted.</p>}
    </div>
  );
}

function OptionRow({ id, option, heading, on, onHover }: { id: string; option: Option; heading: boolean; on: boolean; onHover: () => void }) {
  return (
    <>
      {heading && (
        <li role="presentation" className="lab px-2 pb-0.5 pt-1.5">
          {option.group}
        </li>
      )}
      {/* eslint-disable-next-line jsx-a11y/click-events-have-key-events -- keys are handled by the combobox */}
      <li
        id={id}
        role="option"
        aria-selected={on}
        tabIndex={-1}
        ref={(element) => {
          if (on) element?.scrollIntoView({ block: "nearest" });
        }}
        className={`flex h-8 cursor-pointer items-center gap-2 truncate rounded-2 px-2 ${on ? "bg-accent-soft" : ""}`}
        onMouseMove={onHover}
        onClick={option.run}
      >
        <Icon name={option.icon} />
        <span className="truncate">{option.text}</span>
        {option.about && <span className={`truncate ${on ? "text-text-2" : "text-text-3"}`}>{option.about}</span>}
        <span className="grow" />
        {option.keys && <kbd>{shownKeys(option.keys)}</kbd>}
      </li>
    </>
  );
}

interface Found {
  tasksets: TasksetOut[];
  jobs: JobOut[];
  environments: EnvironmentOut[];
}

/** What the server has under that name; the old answer stays until the new one comes. */
function useFound(text: string): Found {
  const q = text.trim();
  const { data } = useQuery({
    queryKey: ["search", q],
    queryFn: async ({ signal }): Promise<Found> => {
      const [tasksets, jobs, environments] = await Promise.all([
        api<Page<TasksetOut>>("/api/tasksets", { query: { q, limit: 5 }, signal }),
        api<Page<JobOut>>("/api/jobs", { query: { q, limit: 5 }, signal }),
        api<Page<EnvironmentOut>>("/api/environments", { query: { limit: 200 }, signal }),
      ]);
      const named = environments.items.filter((each) => each.name.includes(q.toLowerCase())).slice(0, 5);
      return { tasksets: tasksets.items, jobs: jobs.items, environments: named };
    },
    enabled: q.length > 1 && !isUuid(q),
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  });
  return q.length > 1 && data ? data : { tasksets: [], jobs: [], environments: [] };
}

function useOptions(text: string, found: Found, onClose: () => void): Option[] {
  const navigate = useNavigate();
  const go = (to: string) => () => {
    onClose();
    void navigate(to);
  };
  const act = (run: () => void) => () => {
    onClose();
    run();
  };
  const q = text.trim().toLowerCase();
  const pasted = pastedOptions(text.trim(), go);
  const actions = boundKeys().flatMap((group) =>
    group.bindings
      .filter((binding) => group.title !== "Go to" && group.title !== "Everywhere" && !/^(Arrow|[jkJKhl0$]$)/.test(binding.keys))
      .map((binding): Option => ({ group: "Actions here", icon: "play", text: binding.what, keys: binding.keys, run: act(() => binding.run(new KeyboardEvent("keydown"))) })),
  );
  const places: Option[] = PLACES.map((place) => ({ group: "Go to", icon: place.icon, text: place.text, ...(place.keys ? { keys: place.keys } : {}), run: go(place.to) }));
  const recent = recents().map((item): Option => ({ group: "Recent", icon: KIND_ICON[item.kind], text: item.text, about: item.kind, run: go(item.to) }));
  const looks: Option[] = [
    ...(["system", "light", "dark"] as const).map((theme): Option => ({ group: "Look", icon: "theme", text: `Theme: ${theme}`, run: act(() => setTheme(theme)) })),
    ...(["compact", "default", "comfortable"] as const).map((density): Option => ({ group: "Look", icon: "theme", text: `Density: ${density}`, run: act(() => setDensity(density)) })),
  ];
  const local = [...actions, ...recent, ...places, ...(q ? looks : [])].filter((option) => option.text.toLowerCase().includes(q));
  const remote: Option[] = [
    ...found.tasksets.map((item): Option => ({ group: "Found", icon: "taskset", text: item.title, about: `taskset, ${item.head?.task_count ?? 0} tasks`, run: go(`/tasksets/${item.id}`) })),
    ...found.environments.map((item): Option => ({ group: "Found", icon: "environment", text: item.name, about: "environment", run: go(`/environments/${item.id}`) })),
    ...found.jobs.map((item): Option => ({ group: "Found", icon: "jobs", text: item.name, about: `job, ${item.state}`, run: go(`/jobs/${item.id}`) })),
  ];
  return [...pasted, ...local, ...remote];
}

/** An id may be a run, a job or a taskset; a reference is a taskset; a link of ours is itself. */
function pastedOptions(text: string, go: (to: string) => () => void): Option[] {
  const group = "Pasted";
  if (isUuid(text)) {
    return [
      { group, icon: "run", text: "Open the run with this id", run: go(`/trace/${text}`) },
      { group, icon: "jobs", text: "Open the job with this id", run: go(`/jobs/${text}`) },
      { group, icon: "taskset", text: "Open the taskset with this id", run: go(`/tasksets/${text}`) },
    ];
  }
  const link = /^https?:\/\/[^/]+(\/(?:trace|jobs|tasksets|environments|models)\/\S+)$/.exec(text)?.[1];
  if (link) return [{ group, icon: "run", text: `Open ${link}`, run: go(link) }];
  if (/^[a-z0-9-]+@\S+$/.test(text)) return [{ group, icon: "taskset", text: `Open taskset ${text}`, run: go(`/tasksets/${text}`) }];
  return [];
}

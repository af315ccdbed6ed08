/** The sections of a taskset's settings, in order: a new one is one line here. */
import type { ComponentType } from "react";
import type { TasksetOut } from "../api/types";
import { ChoicesForm } from "../insight/Choices";
import { Name, Retire } from "./SettingsName";
import { Redact } from "./SettingsRedact";
import { Purge } from "./SettingsPurge";
import { AsTaskApp } from "./SettingsTaskApp";

export interface SettingsSection {
  title: string;
  about: string;
  View: ComponentType<{ set: TasksetOut }>;
}

export const SECTIONS: readonly SettingsSection[] = [
  { title: "Name", about: "Links and code that use the old name keep working until another taskset takes it.", View: Name },
  { title: "Checks and answers", about: "What is done with tasks that do not fit their environment's manifest, and where answers stand that a prompt must not give away.", View: ChoicesForm },
  { title: "Archive", about: "An archived taskset is out of the lists and can't be changed; jobs on it stay as they are.", View: Retire },
  { title: "Task App", about: "Task App clients and trainers run these tasks here at this address, with a key of their own.", View: AsTaskApp },
  { title: "Redact a task", about: "Puts a marker with your reason in the place of one task's content, in every version. Digests stay, so pinned references still hold. For admins; can't be undone.", View: Redact },
  { title: "Purge", about: "Deletes the content of an archived taskset for good. Numbers, digests and counts of its versions stay. For admins; can't be undone.", View: Purge },
];

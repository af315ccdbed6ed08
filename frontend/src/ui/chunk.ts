/** Pages and menus as chunks of their own. A chunk that did not arrive is asked for again; after a new build it is gone, so the page reloads once. */
import { lazy } from "react";
import type { ComponentType } from "react";

const RELOADED = "proctor.reloaded";

async function persist<Module>(load: () => Promise<Module>, tries: number): Promise<Module> {
  try {
    const module = await load();
    sessionStorage.removeItem(RELOADED);
    return module;
  } catch (reason) {
    if (tries > 1) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return persist(load, tries - 1);
    }
    if (!sessionStorage.getItem(RELOADED)) {
      sessionStorage.setItem(RELOADED, "1");
      location.reload();
    }
    throw reason;
  }
}

export const chunk = <Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>) => lazy(() => persist(load, 3));

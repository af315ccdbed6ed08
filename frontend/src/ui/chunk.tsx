/**
 * Pages, tabs and menus as chunks of their own. A chunk that did not arrive is asked for again; after a new build it is gone, so the page reloads once.
 * Not `React.lazy`: React holds each thing that was waited for back for 300 ms after the last, so a page in a page would come 600 ms late.
 */
import { useEffect, useState } from "react";
import type { ComponentType, ReactNode } from "react";
import { Skeleton } from "./Notices";

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

export type Chunk<Props> = ComponentType<Props> & { preload: () => void };

/** `waiting` stands there until it came; a failure is thrown to the boundary around it. */
export function chunk<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>, waiting: ReactNode = <Skeleton />): Chunk<Props> {
  let Loaded: ComponentType<Props> | undefined;
  let failure: Error | undefined;
  let loading: Promise<void> | undefined;
  const preload = () =>
    (loading ??= persist(load, 3).then(
      (module) => {
        Loaded = module.default;
      },
      (reason: unknown) => {
        failure = reason instanceof Error ? reason : new Error(String(reason));
      },
    ));
  function Arriving(props: Props) {
    const [, came] = useState(Loaded !== undefined);
    useEffect(() => {
      let here = true;
      void preload().then(() => here && came(true));
      return () => {
        here = false;
      };
    }, []);
    if (failure) throw failure;
    return Loaded ? <Loaded {...props} /> : waiting;
  }
  return Object.assign(Arriving, { preload: () => void preload() });
}

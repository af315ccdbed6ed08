/** Tab: settings of a taskset, one card for each section of `settings.ts`. */
import { SECTIONS } from "./settings";
import type { TabProps } from "./tabs";

export default function SettingsTab({ set }: TabProps) {
  return (
    <div className="scroll min-h-0 grow bg-canvas" tabIndex={0} role="region" aria-label="Settings">
      <div className="grid max-w-[760px] gap-4 px-6 py-4 max-md:px-4">
        {SECTIONS.map(({ title, about, View }) => (
          <section key={title} className="card" aria-label={title}>
            <header>
              <h2>{title}</h2>
            </header>
            <div className="grid gap-3 p-3.5">
              <p className="text-text-2">{about}</p>
              <View set={set} />
            </div>
          </section>
        ))}
      </div>
    </div>
  );
}

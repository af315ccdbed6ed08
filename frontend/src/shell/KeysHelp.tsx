/** `?`: the keys that work on this page. */
import { Dialog } from "../ui/Overlays";
import { boundKeys, shownKeys } from "../ui/keys";

export function KeysHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  const groups = open ? boundKeys().filter((group) => group.bindings.length > 0) : [];
  return (
    <Dialog open={open} onClose={onClose} title="Keys on this page" about="None of them works while you type in a field.">
      <div className="grid gap-4 sm:grid-cols-2">
        {groups.map((group, index) => (
          <section key={index}>
            <h3 className="mb-1">{group.title}</h3>
            <dl className="grid grid-cols-[auto_minmax(0,1fr)] items-center gap-x-3 gap-y-1">
              {group.bindings.map((binding) => (
                <div key={binding.keys} className="contents">
                  <dt>
                    <kbd>{shownKeys(binding.keys)}</kbd>
                  </dt>
                  <dd className="text-text-2">{binding.what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}

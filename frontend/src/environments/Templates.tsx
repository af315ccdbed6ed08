/** What a version offers: its task templates with their arguments. */
import type { TemplateOut } from "../api/types";
import { Json } from "../ui/Json";

export function Templates({ templates, status }: { templates: TemplateOut[]; status: string }) {
  return (
    <section className="card" aria-label="Task templates">
      <header>
        <h2>Tasks it offers</h2>
        <span className="tag tnum">{templates.length}</span>
      </header>
      {templates.length === 0 && <p className="p-3.5 text-text-3">{status === "ready" ? "It named none." : status === "failed" || status === "cancelled" ? "Not known: it did not get that far." : "Known once a worker has started it and asked."}</p>}
      <ul>
        {templates.map((template) => (
          <li key={template.id} className="grid gap-1 border-b border-line p-3.5 last:border-0">
            <b className="mono">{template.id}</b>
            {template.description && <span className="text-text-2">{template.description}</span>}
            {Object.keys(template.args).length > 0 && (
              <details>
                <summary className="cursor-pointer text-12 text-text-2">Arguments</summary>
                <Json text={JSON.stringify(template.args)} label={`arguments of ${template.id}`} />
              </details>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The active filters in words, each with a way out. */
import { Icon } from "../../ui/Icon";
import type { Ask, Question } from "./question";
import { inWords, isNarrowed, NO_FILTER, withFilter } from "./question";

export function Chips({ question, onChange }: { question: Question; onChange: Ask }) {
  if (!isNarrowed(question)) return null;
  return (
    <ul className="flex flex-wrap items-center gap-2 border-b border-line px-6 py-2 max-md:px-4" aria-label="Filters">
      {question.q && <Chip text={`holds “${question.q}”`} onRemove={() => onChange((before) => ({ ...before, q: "" }))} />}
      {[...question.filters].map(([column, filter]) => (
        <Chip key={column} text={inWords(column, filter)} onRemove={() => onChange((before) => withFilter(before, column, NO_FILTER))} />
      ))}
      <li>
        <button type="button" className="copy !px-1" onClick={() => onChange((before) => ({ ...before, q: "", filters: new Map() }))}>
          Clear filters
        </button>
      </li>
    </ul>
  );
}

const Chip = ({ text, onRemove }: { text: string; onRemove: () => void }) => (
  <li className="tag max-w-[320px]">
    <span className="truncate">{text}</span>
    <button type="button" className="copy -mr-1" aria-label={`Remove the filter ${text}`} onClick={onRemove}>
      <Icon name="close" small />
    </button>
  </li>
);

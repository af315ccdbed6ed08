/** A few choices in a row, one pressed. */

interface Props<Value extends string> {
  label: string;
  options: readonly (readonly [Value, string])[];
  value: string;
  onChange: (value: Value) => void;
}

export function Segments<Value extends string>({ label, options, value, onChange }: Props<Value>) {
  return (
    <div className="seg" role="group" aria-label={label}>
      {options.map(([each, text]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => onChange(each)}>
          {text}
        </button>
      ))}
    </div>
  );
}

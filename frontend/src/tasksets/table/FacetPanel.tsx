/** The filters beside the table, or as a drawer over it where there is no room. */
import { Dialog } from "../../ui/Overlays";
import { Facets } from "./Facets";
import type { Ask, Question } from "./question";

interface Props {
  asDrawer: boolean;
  reference: string;
  question: Question;
  onChange: Ask;
  onClose: () => void;
}

export function FacetPanel({ asDrawer, onClose, ...rest }: Props) {
  if (asDrawer) {
    return (
      <Dialog open onClose={onClose} title="Filters">
        <div className="facets -mx-4">
          <Facets {...rest} />
        </div>
      </Dialog>
    );
  }
  return (
    <section className="facets beside scroll" aria-label="Filters" tabIndex={0}>
      <Facets {...rest} />
    </section>
  );
}

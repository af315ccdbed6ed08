/** The bar that stays at the bottom of a step: back, what is so, and the one primary action. */
import type { ReactNode } from "react";
import { Link } from "react-router";
import { Icon } from "../ui/Icon";

export function StepFoot({ back, about, children }: { back: { to: string; text: string }; about?: ReactNode; children?: ReactNode }) {
  return (
    <footer className="import-foot">
      <span className="min-w-0 grow text-12 text-text-2">{about}</span>
      <Link className="btn" to={back.to}>
        <Icon name="left" /> {back.text}
      </Link>
      {children}
    </footer>
  );
}

/** Dialog for a decision, menu for actions, popover for a look. Radix keeps focus, Escape and reading order. */
import { Dialog as RDialog, DropdownMenu, Popover as RPopover } from "radix-ui";
import type { ReactNode } from "react";
import { Icon } from "./Icon";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  about?: ReactNode;
  children?: ReactNode;
  wide?: boolean;
}

export function Dialog({ open, onClose, title, about, children, wide = false }: DialogProps) {
  return (
    <RDialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <RDialog.Portal>
        <RDialog.Overlay className="veil" />
        <RDialog.Content className="dialog" style={wide ? { width: "min(720px, calc(100vw - 24px))" } : undefined} {...(about ? {} : { "aria-describedby": undefined })}>
          <div className="mb-2 flex items-start gap-2">
            <RDialog.Title className="grow text-14 font-semibold">{title}</RDialog.Title>
            <RDialog.Close className="copy" aria-label="Close">
              <Icon name="close" />
            </RDialog.Close>
          </div>
          {about && <RDialog.Description className="mb-3 text-text-2">{about}</RDialog.Description>}
          {children}
        </RDialog.Content>
      </RDialog.Portal>
    </RDialog.Root>
  );
}

interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  about: ReactNode;
  keep: string;
  verb: string;
  busy?: boolean;
  error?: ReactNode;
  onConfirm: () => void;
}

/** The destructive button says verb, count and name. */
export function Confirm({ open, onClose, title, about, keep, verb, busy = false, error, onConfirm }: ConfirmProps) {
  return (
    <Dialog open={open} onClose={onClose} title={title} about={about}>
      {error}
      <div className="flex justify-end gap-2">
        <button type="button" className="btn" onClick={onClose}>
          {keep}
        </button>
        <button type="button" className="btn danger" disabled={busy} onClick={onConfirm}>
          {verb}
        </button>
      </div>
    </Dialog>
  );
}

export function Popover({ button, label, children }: { button: ReactNode; label: string; children: ReactNode }) {
  return (
    <RPopover.Root>
      <RPopover.Trigger asChild>{button}</RPopover.Trigger>
      <RPopover.Portal>
        <RPopover.Content className="pop" align="end" sideOffset={6} collisionPadding={12} aria-label={label}>
          {children}
        </RPopover.Content>
      </RPopover.Portal>
    </RPopover.Root>
  );
}

export interface MenuItem {
  text: ReactNode;
  run: () => void;
  disabled?: boolean;
  danger?: boolean;
  hint?: ReactNode;
}

/** Items; `null` draws a line. */
interface MenuProps {
  button: ReactNode;
  label: string;
  items: (MenuItem | null)[];
  head?: ReactNode;
  /** For a menu that a key opens too. */
  open?: boolean;
  onOpen?: (open: boolean) => void;
}

export function Menu({ button, label, items, head, open, onOpen }: MenuProps) {
  const held = open === undefined ? {} : { open, ...(onOpen && { onOpenChange: onOpen }) };
  return (
    <DropdownMenu.Root modal={false} {...held}>
      <DropdownMenu.Trigger asChild>{button}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="pop" align="end" sideOffset={6} collisionPadding={12} aria-label={label}>
          {head}
          {items.map((item, index) =>
            item === null ? (
              <DropdownMenu.Separator key={index} asChild>
                <hr />
              </DropdownMenu.Separator>
            ) : (
              <DropdownMenu.Item key={index} disabled={item.disabled ?? false} className={item.danger ? "text-bad" : ""} onSelect={item.run}>
                <span className="grow">{item.text}</span>
                {item.hint && <span className="text-text-3">{item.hint}</span>}
              </DropdownMenu.Item>
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export const MoreButton = ({ label, ...rest }: { label: string } & React.ComponentProps<"button">) => (
  <button type="button" className="btn icon" aria-label={label} title={label} {...rest}>
    <Icon name="more" />
  </button>
);

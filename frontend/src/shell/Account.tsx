/** Who is signed in, for which team, and how the page looks. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { api, chooseTeam } from "../api/client";
import type { Me } from "../api/types";
import { live } from "../live/link";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Overlays";
import type { Density, Theme } from "./preferences";
import { setDensity, setTheme, useDensity, useTheme } from "./preferences";
import { TeamName } from "./Team";

export function TeamSwitch({ me }: { me: Me }) {
  const client = useQueryClient();
  const choose = (id: string) => {
    chooseTeam(id);
    void client.resetQueries();
  };
  return (
    <Menu
      label="Team"
      button={
        <button type="button" className="team" aria-label={`${me.team.title}, switch team`}>
          <TeamName me={me} />
          <span className="words">
            <Icon name="down" small />
          </span>
        </button>
      }
      items={me.teams.map((team) => ({ text: team.title, hint: team.id === me.team.id ? "now" : team.role, run: () => choose(team.id) }))}
    />
  );
}

const THEMES: Theme[] = ["system", "light", "dark"];
const DENSITIES: Density[] = ["compact", "default", "comfortable"];

export function Account({ me, onKeys }: { me: Me; onKeys: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const theme = useTheme();
  const density = useDensity();
  const initials = (me.name || me.email).split(/[\s.@]+/).slice(0, 2).map((word) => word.charAt(0).toUpperCase()).join("");
  const signOut = async () => {
    await api("/auth/sign-out", { method: "POST" });
    live.close();
    client.clear();
    void navigate("/sign-in");
  };
  return (
    <Menu
      label="Account"
      button={
        <button type="button" className="btn ghost icon" aria-label={`Account of ${me.name || me.email}`}>
          <span className="grid size-[22px] place-items-center rounded-full bg-accent-soft text-11 font-semibold text-accent" style={{ borderRadius: "50%" }}>
            {initials}
          </span>
        </button>
      }
      head={
        <div className="px-2 py-1">
          <div className="font-semibold">{me.name || me.email}</div>
          <div className="text-12 text-text-3">
            {me.email}, {me.team.role} of {me.team.title}
          </div>
        </div>
      }
      items={[
        null,
        ...THEMES.map((each) => ({ text: `Theme: ${each}`, hint: each === theme ? <Icon name="check" small /> : undefined, run: () => setTheme(each) })),
        null,
        ...DENSITIES.map((each) => ({ text: `Density: ${each}`, hint: each === density ? <Icon name="check" small /> : undefined, run: () => setDensity(each) })),
        null,
        { text: "Keys", hint: <kbd>?</kbd>, run: onKeys },
        { text: "Sign out", run: () => void signOut() },
      ]}
    />
  );
}

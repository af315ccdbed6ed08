/** Whether the person may do what only admins and owners of the team may. */
import { useQuery } from "@tanstack/react-query";
import { meQuery } from "../api/queries";

export const useIsAdmin = () => ["owner", "admin"].includes(useQuery(meQuery).data?.team.role ?? "");

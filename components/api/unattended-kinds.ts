/**
 * Kinds that are served and that nothing in the cluster acts on yet: by storage prefix, what is missing and what that means. A
 * client that creates one is warned, and an Event says it of the object. It follows from the table of `kind-actors.ts`.
 */
import { kindActors } from './kind-actors.ts'

export const unattendedKinds: ReadonlyMap<string, string> = new Map(
  [...kindActors].flatMap(([prefix, { missing }]) =>
    missing === undefined ? [] : [[prefix, missing] as const],
  ),
)

/**
 * Kinds that are served and that nothing in the cluster acts on yet: by storage prefix, what is missing and what that means. A
 * client that creates one is warned, and an Event says it of the object. It follows from the table of `kind-actors.ts`.
 */
import type { FeatureGates } from './feature-gates.ts'
import { kindActors } from './kind-actors.ts'

export const unattendedKinds: ReadonlyMap<string, string> = new Map(
  [...kindActors].flatMap(([prefix, { missing }]) =>
    missing === undefined ? [] : [[prefix, missing] as const],
  ),
)

/** The warning to a client that creates an object on which nothing acts: of a listed kind, or of one whose feature gate is off. */
export function unattendedWarning(storagePrefix: string, gates: FeatureGates): string | undefined {
  const gate = kindActors.get(storagePrefix)?.gate
  if (gate !== undefined && !gates[gate]) {
    return `the feature gate ${gate} is off: this object has no effect`
  }
  return unattendedKinds.get(storagePrefix)
}

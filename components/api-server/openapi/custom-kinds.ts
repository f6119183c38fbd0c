/** The kinds of custom resources as OpenAPI takes them. */
import type { Resource } from '../../machinery/objects/resource.ts'
import type { CustomKind } from './group-version.ts'
import { customVersionOf } from '../custom-resources/custom-version.ts'
import type { ServedDefinitions } from '../custom-resources/served-definitions.ts'

/** Gives the same value as long as the same definitions are established. */
export function createCustomKinds(definitions: ServedDefinitions): () => readonly CustomKind[] {
  let from: readonly Resource[] | undefined
  let kinds: readonly CustomKind[] = []
  return () => {
    if (from !== definitions.established) {
      from = definitions.established
      kinds = from.flatMap((resource) => {
        const version = customVersionOf(resource)
        return version === undefined
          ? []
          : { resource, schema: version.openApi, keepsUnknown: version.keepsUnknown }
      })
    }
    return kinds
  }
}

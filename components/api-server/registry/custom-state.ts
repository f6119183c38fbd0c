/**
 * Custom resources as verbs work with them: in the version of the request, whatever version is stored (upstream: each version's
 * storage decodes to it and encodes from it).
 */
import { deepFreeze, type KubeObject } from '../../machinery/objects/object.ts'
import type { CustomKind, Resource } from '../../machinery/objects/resource.ts'
import type { Shown } from '../encoding/form.ts'

/** What is stored, in the kind's version: frozen. Rejects with a StatusError when a conversion fails. */
export async function customState(custom: CustomKind, entry: Shown): Promise<KubeObject> {
  const stored = entry.object()
  await custom.prepare([stored])
  return deepFreeze(custom.fromStored(stored))
}

/** To be awaited before entries of kinds that a service converts are shown, all in one call of it. Others cost nothing. */
export async function readyToShow(resource: Resource, shown: Iterable<Shown>): Promise<void> {
  const { custom } = resource
  if (custom?.isConverted !== true) return
  await custom.prepare(Array.from(shown, (one) => one.object()))
}

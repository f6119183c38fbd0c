/**
 * Stored objects as writes work with them, and as they are made ready to be shown (upstream: each version's storage decodes to
 * it and encodes from it).
 */
import { objectKindOf } from '../../api/object-kind.ts'
import { deepFreeze, type KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Shown } from '../encoding/form.ts'
import type { Entry } from '../watch-cache/entry.ts'

/** What is stored, in the working version of its kind: frozen. Rejects with a StatusError when a conversion fails. */
export function workingState(resource: Resource, entry: Shown): KubeObject | Promise<KubeObject> {
  const kind = objectKindOf(resource)
  const stored = entry.object()
  const ready = kind.prepare([stored])
  if (ready === undefined) return deepFreeze(kind.working(stored))
  return ready.then(() => deepFreeze(kind.working(stored)))
}

/** A copy of an entry's working state that may be changed. */
export function workingDraft(state: KubeObject, entry: Entry): KubeObject {
  return state === entry.object() ? entry.draft() : structuredClone(state)
}

/** To be awaited before entries of kinds that a service converts are shown, all in one call of it. Undefined for others. */
export function readyToShow(resource: Resource, shown: Iterable<Shown>): Promise<void> | undefined {
  const kind = objectKindOf(resource)
  if (!kind.isConverted) return undefined
  return kind.prepare(Array.from(shown, (one) => one.heldObject?.() ?? one.object()))
}

/** ToldHistory: a history made by hand, told to one invariant, for the invariants' own tests. */
import { dialects } from '../../components/api/dialect.ts'
import type { ResourceKey } from '../../components/api/resources.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import type { Change } from '../../monitors/change.ts'
import type { Finding } from '../../monitors/monitor.ts'
import { linesOf } from '../invariants/invariant.ts'

type Written = Omit<KubeObject, 'metadata'> & { readonly metadata: KubeObject['metadata'] }

export interface ToldHistory {
  /** Creates or replaces the object; its uid is its name's unless it has one. Gives the violations. */
  put(key: ResourceKey, object: Written): string[]
  /** Replaces parts of the object. */
  change(key: ResourceKey, name: string, more: Readonly<Record<string, unknown>>): string[]
  remove(key: ResourceKey, name: string): string[]
  /** Lets time pass. */
  pass(ms: number): void
  readonly nowMs: () => number
}

const resources = resourcesOf(dialects.kubernetes)

/** Every object is in namespace `default`, unless it is a Node. */
export function tellTo(rule: { take(change: Change): readonly (Finding | string)[] }): ToldHistory {
  const objects = new Map<string, KubeObject>()
  let revision = 100
  let nowMs = Date.parse('2025-01-01T00:00:00Z')
  const tell = (type: Change['type'], key: ResourceKey, object: KubeObject): string[] => {
    revision += 1
    const id = `${key} ${keyOf(object)}`
    const old = objects.get(id)
    const written = {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(revision) },
    }
    if (type === 'DELETED') objects.delete(id)
    else objects.set(id, written)
    const found = rule.take({
      type,
      resource: resources[key],
      object: written,
      old,
      revision,
      isListed: false,
      atMs: nowMs,
    })
    return linesOf(found)
  }
  const namespaceOf = (key: ResourceKey): { namespace?: string } =>
    resources[key].namespaced ? { namespace: 'default' } : {}
  const find = (key: ResourceKey, name: string): KubeObject => {
    const found = objects.get(`${key} ${keyOf({ metadata: { ...namespaceOf(key), name } })}`)
    if (found === undefined) throw new Error(`there is no ${key} ${name}`)
    return found
  }
  return {
    put: (key, { metadata, ...rest }) => {
      const object = {
        ...rest,
        metadata: { uid: `${metadata.name}-uid`, ...namespaceOf(key), ...metadata },
      }
      return tell(objects.has(`${key} ${keyOf(object)}`) ? 'MODIFIED' : 'ADDED', key, object)
    },
    change: (key, name, more) => tell('MODIFIED', key, { ...find(key, name), ...more }),
    remove: (key, name) => tell('DELETED', key, find(key, name)),
    pass: (ms) => {
      nowMs += ms
    },
    nowMs: () => nowMs,
  }
}

/** A controller reference. */
export function ownedBy(
  kind: string,
  name: string,
  apiVersion = 'apps/v1',
): { apiVersion: string; kind: string; name: string; uid: string; controller: boolean } {
  return { apiVersion, kind, name, uid: `${name}-uid`, controller: true }
}

/** PendingWrites: objects that quotas have room for and whose writes have not ended, by namespace. */
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { QuotaRequest } from './quota-check.ts'

export interface PendingWrite {
  /**
   * The versions, by quota, that the write's reservation is added to and that are not replaced yet: a quota of such a version
   * does not hold the reservation.
   */
  readonly unreserved: Map<string, string>
}

export interface PendingWrites {
  add(ask: QuotaRequest): PendingWrite
  remove(ask: QuotaRequest): void
  /** New states of objects of the kind that a quota of this name and version has reserved. */
  reserved(of: {
    readonly namespace: string
    readonly group: string
    readonly plural: string
    readonly quota: string
    readonly version: string
  }): readonly KubeObject[]
}

export function createPendingWrites(): PendingWrites {
  const byNamespace = new Map<string, Map<QuotaRequest, PendingWrite>>()
  return {
    add: (ask) => {
      const { namespace } = ask.request
      const write: PendingWrite = { unreserved: new Map() }
      const writes = byNamespace.get(namespace) ?? new Map<QuotaRequest, PendingWrite>()
      byNamespace.set(namespace, writes.set(ask, write))
      return write
    },
    remove: (ask) => {
      const { namespace } = ask.request
      const writes = byNamespace.get(namespace)
      writes?.delete(ask)
      if (writes?.size === 0) byNamespace.delete(namespace)
    },
    reserved: ({ namespace, group, plural, quota, version }) =>
      Array.from(byNamespace.get(namespace) ?? [])
        .filter(
          ([{ evaluator }, { unreserved }]) =>
            evaluator.group === group &&
            evaluator.plural === plural &&
            unreserved.get(quota) !== version,
        )
        .map(([{ request }]) => request.object),
  }
}

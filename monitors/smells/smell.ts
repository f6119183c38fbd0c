/** Smell: something in a client's requests that is often a mistake. It is found in records alone; each has a way in which it can be wrong. */
import type { RequestRecord } from '../../components/api/request-record.ts'

export interface Smell {
  readonly name: string
  /** One sentence: what was seen. */
  readonly text: string
  /** How to mend it. */
  readonly mend: string
  /** How often it was seen. */
  readonly count: number
  /** One of the requests. */
  readonly example: RequestRecord
}

/** Requests with the same smell, before they are counted. */
export interface Found {
  /** What they have in common, such as a kind: each gets an entry of its own. */
  readonly what: string
  readonly record: RequestRecord
  readonly count?: number
}

/** `deployments.apps`, `pods/status`. */
export function resourceOf({ resource, group, subresource }: RequestRecord): string {
  const name = group === '' ? resource : `${resource}.${group}`
  return subresource === '' ? name : `${name}/${subresource}`
}

/** `deployments.apps shop/web`. */
export function whereOf(record: RequestRecord): string {
  const { namespace, name } = record
  const key = namespace === '' || name === '' ? `${namespace}${name}` : `${namespace}/${name}`
  return key === '' ? resourceOf(record) : `${resourceOf(record)} ${key}`
}

export const isUpdate = ({ verb }: RequestRecord): boolean => verb === 'update' || verb === 'patch'
/** It was done. */
export const hasSucceeded = ({ status, dryRun }: RequestRecord): boolean =>
  status < 300 && dryRun !== true

/** In the order in which they first come. */
export function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const name = key(item)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [item])
    else group.push(item)
  }
  return groups
}

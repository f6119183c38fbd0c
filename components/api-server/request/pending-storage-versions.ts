/** PendingStorageVersions: the resources whose StorageVersion the server has not written yet (upstream: apiserver pkg/storageversion/manager.go). */

export interface PendingStorageVersions {
  /** Why the resource's writes must wait; undefined when they need not. */
  whyPending(group: string, plural: string): string | undefined
  /** The StorageVersion is written, or why it could not be. */
  note(group: string, plural: string, error: string | undefined): void
}

/** `resources` are those that have to be written. */
export function createPendingStorageVersions(
  resources: readonly { readonly group: string; readonly plural: string }[],
): PendingStorageVersions {
  const keyOf = (group: string, plural: string): string =>
    group === '' ? plural : `${plural}.${group}`
  /** The last error of each. */
  const pending = new Map<string, string>(
    resources.map(({ group, plural }) => [keyOf(group, plural), '<nil>']),
  )
  return {
    whyPending: (group, plural) => pending.get(keyOf(group, plural)),
    note: (group, plural, error) => {
      const key = keyOf(group, plural)
      if (error === undefined) pending.delete(key)
      else if (pending.has(key)) pending.set(key, error)
    },
  }
}

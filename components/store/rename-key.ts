/** rename-key: keys of an earlier layout -> keys of today's. */

/** The key with its prefix replaced, if `renames` has one that ends in a slash; else the key itself. */
export function renameKey(key: string, renames: ReadonlyMap<string, string>): string {
  for (let end = key.indexOf('/'); end >= 0; end = key.indexOf('/', end + 1)) {
    const to = renames.get(key.slice(0, end + 1))
    if (to !== undefined) return to + key.slice(end + 1)
  }
  return key
}

/** freeNodeName: what a node is called that has no name yet. Pure. */

/** The first free name `node-N`. */
export function freeNodeName(taken: readonly string[]): string {
  let number = 1
  while (taken.includes(`node-${number}`)) number += 1
  return `node-${number}`
}

/** ReachableAddress: where a server on this machine is reached. */
const allAddresses = new Set(['', '0.0.0.0', '::'])

/** The address at which a server that listens at `bound` can be reached from this machine. */
export function reachableAddress(bound: string): string {
  return allAddresses.has(bound) ? '127.0.0.1' : bound
}

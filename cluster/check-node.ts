/** Checks nodes that come from outside: from the command line or a saved cluster. */
import { ClusterError } from './cluster-error.ts'

/** A node's name becomes a folder and an object's name: a DNS subdomain. */
export function checkNodeName(name: string): void {
  if (/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name)) return
  throw new ClusterError('usage', `invalid node name "${name}"`, {
    hint: 'use lower case letters, digits, dashes and dots',
  })
}

const mostSimulated = 10_000

/** Throws a ClusterError of kind `usage` unless a cluster can carry that many simulated nodes. */
export function checkSimulated(count: number, least: number): void {
  if (Number.isInteger(count) && count >= least && count <= mostSimulated) return
  throw new ClusterError(
    'usage',
    `invalid number of simulated nodes ${count}: must be from ${least} to ${mostSimulated}`,
    { hint: 'one API server stores the leases of them all' },
  )
}

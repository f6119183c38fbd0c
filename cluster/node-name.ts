/** Checks the names of nodes that come from outside: the command line, a saved cluster. */
import { ClusterError } from './cluster-error.ts'

/** A node's name becomes a folder and an object's name: a DNS subdomain. */
export function checkNodeName(name: string): void {
  if (/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name)) return
  throw new ClusterError('usage', `invalid node name "${name}"`, {
    hint: 'use lower case letters, digits, dashes and dots',
  })
}

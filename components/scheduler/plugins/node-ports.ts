/** NodePorts: two pods on a node cannot use one host port. */
import type { FilterPlugin, Rejection } from '../plugin.ts'
import type { HostPort } from '../pod-info.ts'

const anyAddress = '0.0.0.0'
const rejection: Rejection = {
  reasons: ["node(s) didn't have free ports for the requested pod ports"],
  resolvable: true,
}

function collide(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false
  return a.ip === b.ip || a.ip === anyAddress || b.ip === anyAddress
}

export const nodePorts: FilterPlugin = {
  name: 'NodePorts',
  forPod({ hostPorts }) {
    if (hostPorts.length === 0) return undefined
    return (node) => {
      if (node.podsWithPorts === 0) return undefined
      for (const other of node.pods.values()) {
        if (hostPorts.some((port) => other.hostPorts.some((taken) => collide(port, taken)))) {
          return rejection
        }
      }
      return undefined
    }
  },
}

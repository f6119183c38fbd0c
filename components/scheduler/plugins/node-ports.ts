/** NodePorts: two pods on a node cannot use one host port (upstream: plugins/nodeports). */
import { registered, registeredPods } from '../cluster-event.ts'
import type { PluginWith, Rejection } from '../plugin.ts'
import type { HostPort } from '../pod-info.ts'
import { hostPortsOf } from '../pod-info.ts'

const anyAddress = '0.0.0.0'
const rejection: Rejection = {
  reasons: ["node(s) didn't have free ports for the requested pod ports"],
  resolvable: true,
}

function collide(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false
  return a.ip === b.ip || a.ip === anyAddress || b.ip === anyAddress
}

function anyCollide(ports: readonly HostPort[], others: readonly HostPort[]): boolean {
  return ports.some((port) => others.some((taken) => collide(port, taken)))
}

export const nodePorts: PluginWith<'filter'> = {
  name: 'NodePorts',
  events: [
    registeredPods(
      ['Delete'],
      ({ hostPorts }, { old }) => old !== undefined && anyCollide(hostPorts, hostPortsOf(old)),
    ),
    registered('Node', ['Add']),
  ],
  filter({ hostPorts }) {
    if (hostPorts.length === 0) return undefined
    return (node) => {
      if (node.podsWithPorts === 0) return undefined
      for (const other of node.pods.values()) {
        if (anyCollide(hostPorts, other.hostPorts)) return rejection
      }
      return undefined
    }
  },
}

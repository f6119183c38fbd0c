/**
 * CountedServers: the API servers of which there are a fixed number: this one, and as many of those in the endpoints of their Service
 * (upstream: controlplane/reconcilers/instancecount.go). One that dies stays there until another one needs its place.
 */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { LiveServers, ServerEndpoint } from './server-leases.ts'

interface Subset {
  readonly addresses?: readonly { readonly ip: string }[]
  readonly ports?: readonly { readonly port: number }[]
}

function serversIn(endpoints: KubeObject | undefined): ServerEndpoint[] {
  const subsets = (endpoints?.['subsets'] ?? []) as readonly Subset[]
  return subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.flatMap(({ port }) => addresses.map(({ ip }) => ({ address: ip, port }))),
  )
}

export function countedServers(options: {
  readonly own: ServerEndpoint
  /** How many there are, with this one. */
  readonly count: number
  /** The newest endpoints. */
  readonly endpoints: () => KubeObject | undefined
}): LiveServers {
  const { own, count, endpoints } = options
  let isReleased = false
  return {
    renew: async () => {},
    release: async () => {
      isReleased = true
    },
    live: async () => {
      const others = serversIn(endpoints()).filter(
        ({ address, port }) => address !== own.address || port !== own.port,
      )
      if (isReleased) return others
      return [...others.slice(Math.max(0, others.length - count + 1)), own]
    },
  }
}

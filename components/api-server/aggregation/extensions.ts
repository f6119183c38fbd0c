/** extensions: the part of the aggregator that is loaded with the first APIService that names a service. */
import type { AggregatorOptions, Forward } from './aggregator.ts'
import type { ApiServiceTable } from './api-service-table.ts'
import { createAvailabilityMetrics } from './availability-metrics.ts'
import { createExtensionConnections } from './extension-connections.ts'
import { createExtensionFollower, type ExtensionFollower } from './extension-follower.ts'
import { createExtensionReader } from './extension-reader.ts'
import { forwardRequest } from './forward.ts'

export interface Extensions {
  readonly follower: ExtensionFollower
  readonly forward: Forward
}

export function createExtensions(
  options: AggregatorOptions & {
    /** Connects to endpoints instead of the Services' own addresses. */
    readonly routesToEndpoints: boolean
    readonly rejectsRedirects: boolean
  },
  table: ApiServiceTable,
): Extensions {
  const { clock, resources, metrics } = options
  const connections = createExtensionConnections({
    ...options,
    services: resources.services,
    endpoints: resources.endpoints,
    random: () => clock.random(),
  })
  const extensions = createExtensionReader(connections, clock)
  const follower = createExtensionFollower({
    ...options,
    table,
    connections,
    extensions,
    onAvailability: createAvailabilityMetrics(metrics),
  })
  return {
    follower,
    forward: (context, remote) => forwardRequest(context, remote, { ...options, connections }),
  }
}

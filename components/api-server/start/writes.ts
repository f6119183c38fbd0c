/** writes: the served kinds, admission, and the registry of every write. */
import { measuredAdmission } from '../admission/admission-metrics.ts'
import { createAdmission, type Admission } from '../admission/chain.ts'
import type { OwnClient } from '../admission/own-client.ts'
import { admissionWebhookMetrics } from '../admission/webhook/admission-webhook-metrics.ts'
import { createConverters, type Converters } from '../custom-resources/conversion-webhook.ts'
import {
  createServedDefinitions,
  type ServedDefinitions,
} from '../custom-resources/served-definitions.ts'
import { createAddressRecords } from '../kinds/core/address-records.ts'
import { createServiceAllocator, type ServiceAllocator } from '../kinds/core/service-allocator.ts'
import { createServiceCidrPool } from '../kinds/core/service-cidr-pool.ts'
import { eventsResource } from '../controllers/expire-events.ts'
import {
  addressClaims,
  nodePortClaims,
  sharedAddresses,
  sharedNodePorts,
  type SharedRange,
} from '../kinds/core/shared-ranges.ts'
import { Registry } from '../registry/registry.ts'
import { parseIpRange } from '../../machinery/validation/ip-address.ts'
import { createDeferredClient, type DeferredClient } from './deferred-client.ts'
import { admissionSettingsOf } from './flag-files.ts'
import type { Security } from './security.ts'
import { startValue, type Settings } from './settings.ts'
import type { State } from './state.ts'

export interface Writes {
  readonly converters: Converters
  readonly custom: ServedDefinitions
  readonly registry: Registry
  /** The client of admission plugins. It must get the server's own client before the server listens. */
  readonly pluginClient: DeferredClient
  /** To be repaired. */
  readonly sharedRanges: readonly SharedRange[]
}

async function admissionOf(
  settings: Settings,
  { cache }: State,
  more: Security & { readonly custom: ServedDefinitions; readonly client: OwnClient },
): Promise<Admission> {
  const { options, dialect, log, served, metrics } = settings
  const { authorization, checkEscalation, egress, custom, client } = more
  const plugins = await admissionSettingsOf(options, { dialect, log })
  return startValue(() =>
    createAdmission(
      {
        enable: options['enable-admission-plugins'],
        disable: options['disable-admission-plugins'],
      },
      {
        ...settings,
        reader: cache,
        authorizer: authorization.authorizer,
        checkEscalation,
        served,
        customKinds: () => custom.established,
        egress,
        webhookMetrics: admissionWebhookMetrics(metrics),
        client,
        settings: plugins,
      },
    ),
  )
}

/** The ranges that servers on one store share; none on a store of this server alone. Throws a TypeError for an invalid range. */
function sharedRangesOf(
  { options, resources, gates }: Settings,
  { cache, store }: State,
): readonly SharedRange[] {
  if (!store.isShared) return []
  const from = {
    store,
    reader: cache,
    services: resources.services,
    clusterIpRange: options['service-cluster-ip-range'],
    nodePortRange: options['service-node-port-range'],
  }
  const nodePorts = sharedNodePorts(from)
  return gates.MultiCIDRServiceAllocator ? [nodePorts] : [nodePorts, sharedAddresses(from)]
}

/** Throws a TypeError for an invalid range. */
function serviceAllocatorOf(
  { options, resources, gates, dialect, log, metrics }: Settings,
  { cache }: State,
  by: {
    readonly writer: DeferredClient['client']
    readonly ranges: readonly SharedRange[]
  },
): ServiceAllocator {
  const { services, serviceCidrs, ipAddresses } = resources
  const clusterIpRange = options['service-cluster-ip-range']
  const nodePortRange = options['service-node-port-range']
  const [ports, addresses] = by.ranges
  const nodePorts = ports && nodePortClaims(ports, nodePortRange, log)
  const from = { reader: cache, services, clusterIpRange, nodePortRange, metrics }
  if (!gates.MultiCIDRServiceAllocator) {
    const claims = {
      nodePorts,
      addresses: addresses && addressClaims(addresses, clusterIpRange, log),
    }
    return createServiceAllocator({ ...from, claims: ports && claims })
  }
  const { writer } = by
  const family = parseIpRange(clusterIpRange)?.family ?? 'IPv4'
  return createServiceAllocator({
    ...from,
    addresses: createServiceCidrPool({ reader: cache, serviceCidrs, ipAddresses, family }),
    claims: {
      nodePorts,
      addresses: createAddressRecords({ writer, ipAddresses, dialect, log }),
    },
  })
}

/** Rejects with a StartError for invalid admission flags or files. */
export async function createWrites(
  settings: Settings,
  state: State,
  security: Security,
): Promise<Writes> {
  const { resources, gates, clock, metrics, options } = settings
  const { cache, objects, transformers } = state
  const from = { ...settings, reader: cache }
  const converters = createConverters({ ...from, egress: security.egress })
  const custom = createServedDefinitions({
    reader: cache,
    definitions: resources.customResourceDefinitions,
    endWatches: (prefix) => cache.endWatches(prefix),
    converters,
  })
  const pluginClient = createDeferredClient()
  const { client } = pluginClient
  const admission = await admissionOf(settings, state, { ...security, custom, client })
  const sharedRanges = sharedRangesOf(settings, state)
  const registry = new Registry({
    ...settings,
    store: objects,
    cache,
    transformers,
    allowUnsafeDeletion: gates.AllowUnsafeMalformedObjectDeletion,
    admission: measuredAdmission(admission, metrics, clock),
    serviceAllocator: serviceAllocatorOf(settings, state, { writer: client, ranges: sharedRanges }),
    lifetimeMs: ({ storagePrefix }) =>
      storagePrefix === eventsResource ? options['event-ttl'] : undefined,
  })
  return { converters, custom, registry, pluginClient, sharedRanges }
}

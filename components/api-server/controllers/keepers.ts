/** keepers: the background work that keeps objects true by the server's own writes. */
import type { Dialect } from '../../api/dialect.ts'
import type { FeatureGates } from '../../api/feature-gates.ts'
import type { Resources } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { keepPolicyStatus } from './keep-policy-status.ts'
import type { Converters } from '../custom-resources/conversion-webhook.ts'
import { settleDefinitions } from './definition-controller.ts'
import { keepDefaultServiceCidr } from './default-service-cidr.ts'
import { collectIdentityLeases, keepIdentityLease } from './identity-lease.ts'
import { keepFlowSchemaStatus } from './flow-schema-status.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { SharedRange } from '../kinds/core/shared-ranges.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { keepApiServices } from './registration.ts'
import { repairAddresses } from './repair-addresses.ts'
import { repairRanges } from './repair-ranges.ts'
import { reportUnattended } from './report-unattended.ts'
import { keepStorageVersions, type StorageVersionsOptions } from './storage-versions.ts'
import { trackLegacyTokens } from './track-legacy-tokens.ts'
import type { StartHooks } from '../health/start-hooks.ts'

export interface KeeperOptions {
  readonly reader: ObjectReader
  readonly client: LocalClient
  readonly resources: Resources
  readonly dialect: Dialect
  /** Built-in resources that are served. */
  readonly builtIn: readonly Resource[]
  /** All kinds that are served now. */
  readonly served: () => readonly Resource[]
  readonly converters: Converters
  /** Calls back with the `namespace/name` of a Secret whose token was used. Returns the way to stop. */
  readonly onLegacyTokenUse: (handler: (secret: string) => void) => () => void
  readonly hooks: Pick<StartHooks, 'keep'>
  readonly gates: FeatureGates
  /** The name of this machine. */
  readonly hostname: string
  /** This server's, as in its lease. */
  readonly identity: string
  /** The StorageVersions to write. */
  readonly storageVersions: Pick<StorageVersionsOptions, 'stored' | 'pending'> | undefined
  /** The ranges of Services, where ServiceCIDRs say which there are. */
  readonly serviceRanges?: readonly string[]
  /** What is shared with other servers. */
  readonly sharedRanges: readonly SharedRange[]
  readonly clock: Clock
  readonly log: Log
}

/** Each runs until `signal` aborts. */
export function startKeepers(options: KeeperOptions, signal: AbortSignal): Promise<void>[] {
  const definitions = options.resources.customResourceDefinitions
  const { serviceRanges: ranges, gates, hooks, storageVersions } = options
  return [
    keepFlowSchemaStatus(options, signal),
    keepPolicyStatus(options, signal),
    reportUnattended(options, signal),
    ...(ranges === undefined
      ? []
      : [keepDefaultServiceCidr({ ...options, ranges }, signal), repairAddresses(options, signal)]),
    ...(options.sharedRanges.length === 0
      ? []
      : [repairRanges({ ...options, ranges: options.sharedRanges }, signal)]),
    ...(gates.APIServerIdentity
      ? [
          hooks.keep(
            ['start-kube-apiserver-identity-lease-controller'],
            keepIdentityLease(options, signal),
          ),
          hooks.keep(
            ['start-kube-apiserver-identity-lease-garbage-collector'],
            collectIdentityLeases(options, signal),
          ),
        ]
      : []),
    ...(storageVersions === undefined
      ? []
      : [
          hooks.keep(
            ['built-in-resources-storage-version-updater'],
            keepStorageVersions({ ...options, ...storageVersions }, signal),
          ),
        ]),
    hooks.keep(['start-legacy-token-tracking-controller'], trackLegacyTokens(options, signal)),
    hooks.keep(
      ['kube-apiserver-autoregistration'],
      keepApiServices({ ...options, served: options.builtIn }, signal),
    ),
    hooks.keep(
      ['start-apiextensions-controllers'],
      settleDefinitions({ ...options, definitions }, signal),
    ),
  ]
}

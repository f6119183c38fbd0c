/**
 * etcd-overrides: which resources have an etcd of their own, by --etcd-servers-overrides (upstream: apiserver
 * pkg/server/options/etcd.go, ParseEtcdServersOverrides; pkg/server/storage/storage_factory.go, SetEtcdLocation).
 */
import { StartError } from '../../component-base/component.ts'
import type { Log } from '../../component-base/log.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import type { Resource } from '../../machinery/objects/resource.ts'

/** One etcd and what lies there. */
export interface EtcdOverride {
  readonly servers: readonly string[]
  /** As in Resource. */
  readonly storagePrefixes: ReadonlySet<string>
}

/** Why there are no saved clusters and no backups, in a sentence that follows what was asked for. */
export const cannotBeSaved =
  'a saved cluster or backup holds all objects at one revision, and each etcd counts its own: use "etcdctl snapshot save" on each etcd'

/** Throws a StartError when the flag is given together with --etcd-servers-overrides. */
export function refuseOverridesWith(
  options: Pick<ApiServerOptions, 'etcd-servers-overrides' | 'initial-state' | 'print-state'>,
  flag: 'initial-state' | 'print-state',
): void {
  if ((options[flag] ?? '') === '' || options['etcd-servers-overrides'].length === 0) return
  throw new StartError(
    `--${flag} and --etcd-servers-overrides cannot be combined: ${cannotBeSaved}`,
  )
}

interface Parsed {
  readonly group: string
  /** `*`: all of the group, but for those that are named. */
  readonly plural: string
  readonly servers: readonly string[]
}

const invalid =
  '--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated'

/** Upstream keeps definitions of custom kinds, APIServices and all custom kinds in the etcd of --etcd-servers. */
const elsewhere = /^(?:apiextensions|apiregistration)\//

function parseOverride(text: string): Parsed {
  const [resource = '', servers, ...more] = text.split('#')
  const [group = '', plural, ...parts] = resource.split('/')
  if (servers === undefined || plural === undefined || more.length + parts.length > 0) {
    throw new StartError(invalid)
  }
  const urls = servers.split(';')
  if (urls.includes('')) throw new StartError(invalid)
  return { group, plural, servers: urls }
}

/** Storage prefix -> `group/plural` that an override names; a kind of two groups is named by the one that it is stored in. */
function storedNames(resources: readonly Resource[]): Map<string, { group: string; name: string }> {
  const names = new Map<string, { group: string; name: string }>()
  for (const { virtual, package: own, storageVersion, storagePrefix, group, plural } of resources) {
    if (virtual || own !== storageVersion.package || elsewhere.test(storagePrefix)) continue
    names.set(storagePrefix, { group, name: `${group}/${plural}` })
  }
  return names
}

/**
 * One entry for each set of servers, in the order of the flag. The last override of a resource wins. Throws a StartError for
 * invalid values; what names no resource is logged.
 */
export function etcdOverridesOf(
  values: readonly string[],
  { resources, log }: { readonly resources: readonly Resource[]; readonly log: Log },
): EtcdOverride[] {
  const parsed = values.map(parseOverride)
  const serversOf = new Map(parsed.map((one) => [`${one.group}/${one.plural}`, one.servers]))
  const found = new Map<string, { servers: readonly string[]; storagePrefixes: Set<string> }>()
  const used = new Set<string>()
  for (const { servers } of parsed) {
    const key = servers.toSorted().join(';')
    if (!found.has(key)) found.set(key, { servers, storagePrefixes: new Set() })
  }
  for (const [storagePrefix, { group, name }] of storedNames(resources)) {
    const override = [name, `${group}/*`].find((one) => serversOf.has(one))
    if (override === undefined) continue
    used.add(override)
    const key = (serversOf.get(override) ?? []).toSorted().join(';')
    found.get(key)?.storagePrefixes.add(storagePrefix)
  }
  for (const override of serversOf.keys()) {
    if (used.has(override)) continue
    log.warn(`--etcd-servers-overrides: no built-in resource is stored as ${override}`)
  }
  return [...found.values()].filter(({ storagePrefixes }) => storagePrefixes.size > 0)
}

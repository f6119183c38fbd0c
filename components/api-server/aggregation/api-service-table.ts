/** ApiServiceTable: the APIServices as of the newest commit: the server of each group version, and the order of groups. */
import type { APIService } from '../../api/generated/types.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { compareVersions } from '../discovery/compare-versions.ts'
import type { ListedGroup } from '../discovery/discovery.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'

/** A group version of an extension API server. A new value after each change of its APIService. */
export interface RemoteApiService {
  /** The name of the APIService, such as `v1.stats.example.com`. */
  readonly name: string
  readonly group: string
  readonly version: string
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number }
  /** The authority of the server's certificate, PEM. Undefined: the authorities of the host. */
  readonly ca: string | undefined
  readonly insecure: boolean
  /** Changes with every field of the APIService except its status. */
  readonly source: string
  /** The availability in the status. */
  readonly isAvailable: boolean
}

export interface ApiServiceTable {
  /** By `group/version`; the group of the core is ''. The same map at all times. */
  readonly remotes: ReadonlyMap<string, RemoteApiService>
  /** In the order of `/apis`, including the core group. The same value until something changes. */
  readonly groups: readonly ListedGroup[]
  /** Calls back synchronously for a new, changed or deleted (undefined) remote group version. Returns the way to stop. */
  onRemote(
    handler: (groupVersion: string, remote: RemoteApiService | undefined) => void,
  ): () => void
}

function remoteOf({ metadata, spec, status }: APIService): RemoteApiService | undefined {
  if (!spec?.service) return undefined
  const { group = '', version = '', service, caBundle, insecureSkipTLSVerify = false } = spec
  return {
    name: metadata.name ?? '',
    group,
    version,
    service: {
      namespace: service.namespace ?? '',
      name: service.name ?? '',
      port: service.port ?? 443,
    },
    ca: caBundle ? Buffer.from(caBundle, 'base64').toString() : undefined,
    insecure: insecureSkipTLSVerify,
    source: JSON.stringify([metadata.uid, metadata.labels, metadata.annotations, spec]),
    isAvailable:
      status?.conditions?.some((one) => one.type === 'Available' && one.status === 'True') === true,
  }
}

/**
 * By the priority of the group, then by name; within a group by the priority of the version, then by version order (upstream:
 * apiregistration helper).
 */
function inOrder(objects: readonly KubeObject[]): ListedGroup[] {
  const services = (objects as readonly APIService[]).map(({ metadata, spec }) => ({
    name: metadata.name ?? '',
    group: spec?.group ?? '',
    version: spec?.version ?? '',
    groupPriority: spec?.groupPriorityMinimum ?? 0,
    versionPriority: spec?.versionPriority ?? 0,
  }))
  services.sort((a, b) => b.groupPriority - a.groupPriority || (a.name < b.name ? -1 : 1))
  const byGroup = Map.groupBy(services, ({ group }) => group)
  return Array.from(byGroup, ([name, members]) => ({
    name,
    versions: members
      .toSorted(
        (a, b) => b.versionPriority - a.versionPriority || compareVersions(a.version, b.version),
      )
      .map(({ version }) => version),
  }))
}

/** Follows the APIServices from now on, for as long as the reader lives. */
export function createApiServiceTable(options: {
  readonly reader: ObjectReader
  readonly apiServices: Resource
}): ApiServiceTable {
  const { reader, apiServices } = options
  const remotes = new Map<string, RemoteApiService>()
  const handlers = new Set<(groupVersion: string, remote: RemoteApiService | undefined) => void>()
  let groups: readonly ListedGroup[] | undefined

  function take(object: KubeObject, isGone: boolean): void {
    const { spec } = object as APIService
    const groupVersion = `${spec?.group ?? ''}/${spec?.version ?? ''}`
    const remote = isGone ? undefined : remoteOf(object as APIService)
    if (remote === undefined && !remotes.has(groupVersion)) return
    if (remote === undefined) remotes.delete(groupVersion)
    else remotes.set(groupVersion, remote)
    for (const handler of handlers) handler(groupVersion, remote)
  }

  for (const object of reader.list(apiServices)) take(object, false)
  reader.onChange(apiServices, ({ type, object }) => {
    groups = undefined
    take(object(), type === 'DELETED')
  })
  return {
    remotes,
    get groups() {
      groups ??= inOrder(reader.list(apiServices))
      return groups
    },
    onRemote(handler) {
      handlers.add(handler)
      return () => void handlers.delete(handler)
    },
  }
}

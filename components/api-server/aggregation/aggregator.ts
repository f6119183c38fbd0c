/**
 * Aggregator: the group versions of extension API servers (upstream: kube-aggregator). Until there is one, it is an empty
 * table; the rest is loaded with the first.
 */
import type { Resources } from '../../api/resources.ts'
import type { Dialect } from '../../api/dialect.ts'
import { aborted } from '../../component-base/aborted.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { DiscoveryInput } from '../discovery/discovery.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import type { Dial } from '../egress/egress-selector.ts'
import type { Answer, RequestContext, RequestInfo } from '../request/request.ts'
import {
  createApiServiceTable,
  type ApiServiceTable,
  type RemoteApiService,
} from './api-service-table.ts'
import type { ProxyClient } from './extension-connections.ts'
import type { ExtensionDocuments } from './extension-documents.ts'
import type { Extensions } from './extensions.ts'

export type Forward = (context: RequestContext, remote: RemoteApiService) => Promise<Answer>

export interface AggregatorOptions {
  readonly reader: ObjectReader
  readonly resources: Resources
  /** Built-in resources that are served. */
  readonly served: readonly Resource[]
  readonly dialect: Dialect
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Whether extension API servers get the uids of users. */
  readonly withUid: boolean
  /** Undefined: extension API servers do not accept the users in the headers. */
  readonly proxyClient: (() => ProxyClient) | undefined
  readonly dial: Dial | undefined
  /** Aborts when the server begins to shut down. */
  readonly stopping: AbortSignal
}

type AggregationFlags = Pick<
  ApiServerOptions,
  'enable-aggregator-routing' | 'aggregator-reject-forwarding-redirect'
>

export interface Aggregator {
  readonly table: ApiServiceTable
  /** The input of discovery. The same values until something changes. */
  readonly discovered: Pick<DiscoveryInput, 'listed' | 'extensions'>
  /** The documents of the group versions served elsewhere. The same value until something changes. */
  readonly documents: ReadonlyMap<string, ExtensionDocuments>
  /** The extension API server of a path without a resource: discovery of a group version, or its OpenAPI document. */
  remoteAt(path: string): RemoteApiService | undefined
  /** Whether an extension API server answers the request. */
  isElsewhere(this: void, info: RequestInfo): boolean
  readonly forward: Forward
  /** Follows extension API servers until `signal` aborts; `client` writes whether they answer. */
  run(client: LocalClient, signal: AbortSignal): Promise<void>
}

const noDocuments: ReadonlyMap<string, ExtensionDocuments> = new Map()
const documentPath = /^(?:\/openapi\/v3)?\/(?:apis\/([^/]+)|api)\/([^/]+)\/?$/

/** Follows the APIServices from now on. */
export function createAggregator(flags: AggregationFlags, options: AggregatorOptions): Aggregator {
  const { reader, resources } = options
  const table = createApiServiceTable({ reader, apiServices: resources.apiServices })
  const settings = {
    routesToEndpoints: flags['enable-aggregator-routing'],
    rejectsRedirects: flags['aggregator-reject-forwarding-redirect'],
  }
  let loading: Promise<Extensions> | undefined
  let loaded: Extensions | undefined

  async function extensions(): Promise<Extensions> {
    loading ??= import('./extensions.ts').then(({ createExtensions }) =>
      createExtensions({ ...options, ...settings }, table),
    )
    loaded = await loading
    return loaded
  }

  /** Resolves with the first APIService that names a service, or when `signal` aborts. */
  async function firstRemote(signal: AbortSignal): Promise<void> {
    if (table.remotes.size > 0 || signal.aborted) return
    const { promise: found, resolve } = Promise.withResolvers<void>()
    const stop = table.onRemote(() => resolve())
    await Promise.race([found, aborted(signal)])
    stop()
  }

  const documents = () => loaded?.follower.documents ?? noDocuments
  return {
    table,
    get discovered() {
      return { listed: table.groups, extensions: documents() }
    },
    get documents() {
      return documents()
    },
    remoteAt(path) {
      if (table.remotes.size === 0) return undefined
      const [, group = '', version = ''] = documentPath.exec(path) ?? []
      return version === '' ? undefined : table.remotes.get(`${group}/${version}`)
    },
    isElsewhere: ({ isResourceRequest, group, version }) =>
      isResourceRequest && table.remotes.has(`${group}/${version}`),
    forward: async (context, remote) => await (await extensions()).forward(context, remote),
    async run(client, signal) {
      await firstRemote(signal)
      if (!signal.aborted) await (await extensions()).follower.run(client, signal)
    },
  }
}

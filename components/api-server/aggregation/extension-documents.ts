/** ExtensionDocuments: the discovery and OpenAPI documents of extension API servers, by group version. */
import type { Dialect } from '../../api/dialect.ts'
import type { Log } from '../../component-base/log.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import type { ServedElsewhere } from '../discovery/discovery.ts'
import type { ExtensionOpenApi } from '../openapi/merged-v2.ts'
import type { RemoteApiService } from './api-service-table.ts'
import { discoverExtension } from './extension-discovery.ts'
import { readSwagger, readV3Address } from './extension-openapi.ts'
import type { ExtensionReader } from './extension-reader.ts'

/** The documents of one group version. */
export interface ExtensionDocuments extends ServedElsewhere, ExtensionOpenApi {
  readonly swaggerEtag: string | undefined
}

const nothing: ExtensionDocuments = {
  resources: [],
  freshness: 'Stale',
  v3Address: undefined,
  swagger: undefined,
  swaggerEtag: undefined,
}

/** Reads the documents again. A document that cannot be read stays as it was; without discovery they all are stale. */
async function readAgain(
  before: ExtensionDocuments,
  remote: RemoteApiService,
  from: { extensions: ExtensionReader; dialect: Dialect; log: Log; signal: AbortSignal },
): Promise<ExtensionDocuments> {
  const { log, signal } = from
  const logged =
    <T>(otherwise: T) =>
    (error: unknown): T => {
      if (!signal.aborted) log.info('not read', { apiService: remote.name, error })
      return otherwise
    }
  const [found, v3Address, swagger] = await Promise.all([
    discoverExtension(remote, from).catch(logged(undefined)),
    readV3Address(remote, from).catch(logged(before.v3Address)),
    readSwagger(remote, { ...from, etag: before.swaggerEtag }).catch(logged('same' as const)),
  ])
  const next: ExtensionDocuments = {
    resources: found ?? before.resources,
    freshness: found === undefined ? 'Stale' : 'Current',
    v3Address,
    swagger: swagger === 'same' ? before.swagger : swagger?.swagger,
    swaggerEtag: swagger === 'same' ? before.swaggerEtag : swagger?.etag,
  }
  return deepEqual(next, before) ? before : next
}

export class KnownDocuments {
  readonly #from: { readonly extensions: ExtensionReader; dialect: Dialect; readonly log: Log }
  #all: ReadonlyMap<string, ExtensionDocuments> = new Map()

  constructor(from: { extensions: ExtensionReader; dialect: Dialect; log: Log }) {
    this.#from = from
  }

  /** By `group/version`; another map after each change. */
  get all(): ReadonlyMap<string, ExtensionDocuments> {
    return this.#all
  }

  isCurrent(groupVersion: string): boolean {
    return this.#all.get(groupVersion)?.freshness === 'Current'
  }

  /** Marks the documents stale: their server does not answer. */
  lose(groupVersion: string): void {
    const before = this.#all.get(groupVersion)
    if (before?.freshness === 'Stale') return
    this.#put(groupVersion, { ...(before ?? nothing), freshness: 'Stale' })
  }

  /** Asks the server for its documents, and keeps them unless `signal` has aborted by then. Never rejects. */
  async read(groupVersion: string, remote: RemoteApiService, signal: AbortSignal): Promise<void> {
    const before = this.#all.get(groupVersion) ?? nothing
    const next = await readAgain(before, remote, { ...this.#from, signal })
    if (!signal.aborted) this.#put(groupVersion, next)
  }

  /** The group version is no longer served elsewhere. */
  forget(groupVersion: string): void {
    if (this.#all.has(groupVersion)) this.#put(groupVersion, undefined)
  }

  #put(groupVersion: string, next: ExtensionDocuments | undefined): void {
    if (next === this.#all.get(groupVersion)) return
    const changed = new Map(this.#all)
    if (next === undefined) changed.delete(groupVersion)
    else changed.set(groupVersion, next)
    this.#all = changed
  }
}

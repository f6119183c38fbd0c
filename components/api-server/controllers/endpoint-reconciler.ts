/**
 * EndpointReconciler: keeps the endpoints of the API server's Service at the servers that are alive (upstream: controlplane/reconcilers
 * and controller/kubernetesservice). Every server does so; they agree by compare and swap.
 */
import { apiServerEndpoints } from '../../api/bootstrap-policy/system-objects.ts'
import { labelKey, type Dialect } from '../../api/dialect.ts'
import type { Resources } from '../../api/resources.ts'
import { upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { deepEqual, type KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError, StatusError } from '../../machinery/objects/status-error.ts'
import { isRefusal } from '../../store/store.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { ensureObject, type OwnObject } from './ensure-object.ts'
import type { LiveServers, ServerEndpoint } from './server-leases.ts'

const everyMs = 10_000
/** Of one renewal. Servers that are told a lower count than there are would replace each other for ever. */
const mostWrites = 5
const namespace = 'default'
/** Another server may be about to write the Service: it has taken the address by then. */
const serviceAttempts = 30
const serviceRetryMs = 100

export interface EndpointReconcilerOptions {
  readonly reader: ObjectReader
  readonly client: LocalClient
  readonly resources: Resources
  readonly dialect: Dialect
  readonly clock: Clock
  readonly log: Log
  readonly servers: LiveServers
  /** The server's own Service, which is made anew when it is deleted. */
  readonly service: OwnObject
}

export class EndpointReconciler {
  readonly #options: EndpointReconcilerOptions
  #isStopped = false
  #last: Promise<void> = Promise.resolve()

  constructor(options: EndpointReconcilerOptions) {
    this.#options = options
  }

  /** Makes sure of the Service and joins its endpoints. Rejects with what keeps the server from it. */
  async join(): Promise<void> {
    const { clock, log } = this.#options
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#ensureService()
        break
      } catch (error) {
        if (!isStatusError(error, 'Invalid')) throw error
        if (attempt === serviceAttempts) {
          log.warn('the Service of the API servers could not be made yet', { error })
          break
        }
        await clock.sleep(serviceRetryMs)
      }
    }
    await this.#turn(() => this.#renew())
  }

  async #ensureService(): Promise<void> {
    const { reader, client, service } = this.#options
    await reader.refresh?.()
    await ensureObject(client, service)
  }

  /** Leaves the endpoints, for good; the others stay. What fails is logged: the others remove this server later. */
  async leave(): Promise<void> {
    if (this.#isStopped) return
    this.#isStopped = true
    await this.#attempt(() =>
      this.#turn(async () => {
        await this.#options.servers.release()
        await this.#write()
      }),
    )
  }

  /** Renews until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    try {
      for (;;) {
        await upkeepOf(clock).sleep(everyMs, signal)
        await this.#attempt(() => this.#ensureService())
        await this.#attempt(() => this.#turn(() => this.#renew()))
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  /** One at a time: a renewal under way must not bring back what `leave` removes. */
  async #turn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {
      // The caller gets the error.
    })
    await turn
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof StatusError) && !isRefusal(error)) throw error
      this.#options.log.warn('the endpoints of the API servers were not written', { error })
    }
  }

  async #renew(): Promise<void> {
    if (this.#isStopped) return
    await this.#options.servers.renew()
    await this.#write()
  }

  /** Again while servers come and go: one that joined meanwhile may have been overwritten. */
  async #write(): Promise<void> {
    const { servers } = this.#options
    let live = await servers.live()
    for (let times = 1; times <= mostWrites; times += 1) {
      // The last one leaves the endpoints as they are, as upstream.
      if (live.length === 0) return
      await this.#writeEndpoints(live)
      const written = live
      live = await servers.live()
      if (deepEqual(live, written)) return
    }
  }

  async #writeEndpoints(live: readonly ServerEndpoint[]): Promise<void> {
    const { resources, dialect, reader, client } = this.#options
    await reader.refresh?.()
    const { endpoints, endpointSlices } = apiServerEndpoints(dialect, live)
    await ensureObject(client, exactly(resources.endpoints, endpoints, 'subsets'))
    for (const slice of endpointSlices) {
      await ensureObject(client, exactly(resources.endpointSlices, slice, 'endpoints', 'ports'))
    }
    const wanted = new Set(endpointSlices.map(({ metadata }) => metadata.name))
    for (const { metadata } of this.#ownSlices()) {
      const { name = '' } = metadata
      if (!wanted.has(name)) await this.#remove(resources.endpointSlices, name)
    }
  }

  /** One for each port that servers have. */
  #ownSlices(): readonly KubeObject[] {
    const { resources, dialect, reader } = this.#options
    const label = labelKey(dialect, '', 'service-name')
    const { apiServerService: service } = dialect
    return reader
      .list(resources.endpointSlices, namespace)
      .filter(
        ({ metadata }) =>
          metadata.labels?.[label] === service &&
          metadata.name?.startsWith(`${service}-`) === true &&
          /^\d+$/.test(metadata.name.slice(service.length + 1)),
      )
  }

  async #remove(resource: Resource, name: string): Promise<void> {
    try {
      await this.#options.client.delete(resource, namespace, name)
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }
}

/** The object with exactly these fields; others are the users'. */
function exactly(resource: Resource, object: KubeObject, ...fields: string[]): OwnObject {
  return {
    resource,
    object,
    reconcile: (existing, wanted) => {
      const own = Object.fromEntries(fields.map((field) => [field, wanted[field] as unknown]))
      const next: KubeObject = { ...existing, ...own }
      return deepEqual(existing, next) ? undefined : next
    },
  }
}

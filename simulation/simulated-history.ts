/** SimulatedHistory: what was written in a simulation, in its order, as one hash, and as changes for monitors. */
import { createHash } from 'node:crypto'
import type { Dialect } from '../components/api/dialect.ts'
import { resourcesOf } from '../components/api/resources.ts'
import type { KubeObject } from '../components/machinery/objects/object.ts'
import { apiVersionOf } from '../components/machinery/objects/resource.ts'
import type { Resource } from '../components/machinery/objects/resource.ts'
import type { KeyValue, StoreEvent } from '../components/store/store.ts'
import type { Change } from '../monitors/change.ts'

export interface SimulatedHistoryOptions {
  readonly dialect: Dialect
  /** The cluster's. */
  readonly clock: { now(): number }
  readonly onChange: (change: Change) => void
}

/**
 * Keys, certificates and what is signed by them are random, and ports and machines are the host's: the hash leaves them out. Values that
 * begin so are PEM, as text and in base64.
 */
const random = [
  /-----BEGIN [^-]+-----[^-]+-----END [^-]+-----(?:\\n)?/g,
  /\bLS0tLS1CRUdJTi[\w+/]+=*/g,
  /:\/\/127\.0\.0\.1:\d+/g,
  /"(?:port|targetPort|Port)":\d+/g,
  /"nodeInfo":\{[^}]*\}/g,
]
const notObjects = /\/continue-token-key$/

function sameEverywhere(text: string): string {
  return random.reduce((left, pattern) => left.replaceAll(pattern, '*'), text)
}

const nameOf = ({ apiVersion, kind }: { apiVersion?: string; kind?: string }): string =>
  `${apiVersion ?? ''}/${kind ?? ''}`

export class SimulatedHistory {
  readonly #options: SimulatedHistoryOptions
  readonly #hash = createHash('sha256')
  readonly #objects = new Map<string, KubeObject>()
  readonly #resources: ReadonlyMap<string, Resource>
  #commits = 0

  constructor(options: SimulatedHistoryOptions) {
    this.#options = options
    this.#resources = new Map(
      resourcesOf(options.dialect).all.map((one) => [
        nameOf({ apiVersion: apiVersionOf(one), kind: one.kind }),
        one,
      ]),
    )
  }

  /** What was there before: changes are judged against it. */
  begin(kvs: readonly KeyValue[]): void {
    for (const { key, value, modRevision: revision } of kvs) {
      const object = this.#keep(key, value)
      if (object === undefined) continue
      this.#tell({ type: 'ADDED', key, object, old: undefined, revision, isListed: true })
    }
  }

  take(events: readonly StoreEvent[]): void {
    for (const event of events) {
      this.#commits += 1
      if (event.type === 'put') this.#put(event.kv)
      else this.#delete(event)
    }
  }

  /** Those of which every change is seen: all that are built in. */
  get kinds(): readonly Resource[] {
    return [...this.#resources.values()]
  }

  get commits(): number {
    return this.#commits
  }

  /** Of all until now. */
  get hash(): string {
    return this.#hash.copy().digest('hex')
  }

  #put({ key, value, modRevision }: KeyValue): void {
    const old = this.#objects.get(key)
    const object = this.#keep(key, value)
    this.#note('put', key, object === undefined ? '' : sameEverywhere(value.toString()))
    if (object === undefined) return
    const type = old === undefined ? 'ADDED' : 'MODIFIED'
    this.#tell({ type, key, object, old, revision: modRevision, isListed: false })
  }

  #delete({ key, revision }: Extract<StoreEvent, { type: 'delete' }>): void {
    const old = this.#objects.get(key)
    this.#objects.delete(key)
    this.#note('delete', key, '')
    if (old !== undefined)
      this.#tell({ type: 'DELETED', key, object: old, old, revision, isListed: false })
  }

  #note(type: string, key: string, text: string): void {
    this.#hash.update(`${this.#options.clock.now()} ${type} ${key} ${text}\n`)
  }

  #tell({ key, ...change }: Omit<Change, 'resource' | 'atMs'> & { readonly key: string }): void {
    const resource = this.#resourceOf(change.object, key)
    if (resource === undefined) return
    this.#options.onChange({ ...change, resource, atMs: this.#options.clock.now() })
  }

  #keep(key: string, value: Buffer): KubeObject | undefined {
    if (notObjects.test(key)) return undefined
    try {
      const object = JSON.parse(value.toString()) as KubeObject
      this.#objects.set(key, object)
      return object
    } catch {
      // Not an object of the API.
      return undefined
    }
  }

  /** Of custom kinds the plural is in the key. */
  #resourceOf(object: KubeObject, key: string): Change['resource'] | undefined {
    const { apiVersion = '', kind = '' } = object
    const known = this.#resources.get(nameOf({ apiVersion, kind }))
    if (known !== undefined) return known
    const [group, version] = apiVersion.split('/')
    const [, , , plural] = key.split('/')
    if (group === undefined || version === undefined || plural === undefined) return undefined
    return { group, version, plural, kind }
  }
}

/**
 * Keeps the APIServices of the group versions that this server serves itself: those of custom resources at all times; of
 * built-in groups that are no longer served, the ones it made are deleted (upstream: kube-aggregator autoregister,
 * crdregistration).
 */
import {
  autoManagedLabel,
  customPriorities,
  localApiService,
  localApiServices,
} from '../../api/bootstrap-policy/api-services.ts'
import type { APIService, CustomResourceDefinition } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { deepEqual, type KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { DoubtfulNames } from './doubtful-names.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { localAvailability } from '../kinds/apiregistration/api-service.ts'

/** Writes run this many at a time; they share flushes. */
const batchSize = 64

export interface RegistrationOptions {
  readonly reader: ObjectReader
  readonly client: LocalClient
  readonly dialect: Dialect
  readonly resources: Resources
  /** What is built in and served. */
  readonly served: readonly Resource[]
  readonly clock: Clock
  readonly log: Log
}

/** Runs until `signal` aborts; looks only at what a change may have made wrong. */
export async function keepApiServices(
  options: RegistrationOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, client, dialect, resources, served, clock, log } = options
  const { apiServices, customResourceDefinitions: definitions } = resources
  const label = autoManagedLabel(dialect)
  const builtIn = new Set(resources.groups.map(({ name }) => name))
  /** Names of the APIServices that a definition wants, by its own name. */
  const wantedBy = new Map<string, readonly string[]>()
  const wanted = new Map<string, { object: KubeObject; definitions: number }>()
  const doubtful = new DoubtfulNames({
    settle,
    failure: 'an APIService could not be kept',
    atOnce: batchSize,
    clock,
    log,
  })

  function release(definition: string): void {
    for (const name of wantedBy.get(definition) ?? []) {
      const one = wanted.get(name)
      if (one !== undefined && (one.definitions -= 1) === 0) wanted.delete(name)
      doubtful.add(name)
    }
    wantedBy.delete(definition)
  }

  function take({ metadata, spec }: CustomResourceDefinition): void {
    release(metadata.name ?? '')
    const { group } = spec
    if (builtIn.has(group)) return
    const names = spec.versions
      .filter((version) => version.served)
      .map(({ name: version }) => {
        const object = localApiService(dialect, 'true', { group, version, ...customPriorities })
        const name = object.metadata.name ?? ''
        const before = wanted.get(name)
        wanted.set(name, { object, definitions: (before?.definitions ?? 0) + 1 })
        doubtful.add(name)
        return name
      })
    wantedBy.set(metadata.name ?? '', names)
  }

  async function settle(name: string): Promise<void> {
    const current = reader.get(apiServices, '', name)
    const object = wanted.get(name)?.object
    if (current !== undefined) await markLocal(current as APIService)
    if (current === undefined) {
      if (object !== undefined && client.isReadable(apiServices, '', name)) {
        await client.create(apiServices, '', structuredClone(object))
      }
      return
    }
    // Without the label it is somebody else's; with the other value it was there before this server started.
    if (current.metadata.labels?.[label] !== 'true') return
    if (object === undefined) await client.delete(apiServices, '', name)
    else if (!deepEqual(current['spec'], object['spec'])) {
      await client.update(apiServices, '', { ...current, spec: object['spec'] as unknown })
    }
  }

  /** One that no longer names a service is served here (upstream: pkg/controllers/status/local). */
  async function markLocal(current: APIService): Promise<void> {
    const { spec, status } = current
    const held = status?.conditions?.find(({ type }) => type === 'Available')
    if (spec?.service || (held?.status === 'True' && held.reason === 'Local')) return
    const others = status?.conditions?.filter(({ type }) => type !== 'Available') ?? []
    const condition = localAvailability(clock.now())
    const local = { ...status, conditions: [...others, condition] }
    await client.updateStatus(apiServices, '', { ...current, status: local } as KubeObject)
  }

  /** What an earlier start made of group versions that are served no more. */
  async function removeLeftOver(): Promise<void> {
    const names = new Set(localApiServices(dialect, served).map(({ metadata }) => metadata.name))
    for (const { metadata } of reader.list(apiServices)) {
      if (metadata.labels?.[label] !== 'onstart' || names.has(metadata.name)) continue
      try {
        await client.delete(apiServices, '', metadata.name ?? '')
      } catch (error) {
        if (!isStatusError(error, 'NotFound')) {
          log.warn('a left-over APIService could not be deleted', { name: metadata.name, error })
        }
      }
    }
  }

  const stops = [
    reader.onChange(definitions, ({ type, key, object }) => {
      if (type === 'DELETED') release(key)
      else take(object() as CustomResourceDefinition)
    }),
    reader.onChange(apiServices, ({ key }) => doubtful.add(key)),
  ]
  try {
    for (const object of reader.list(definitions)) take(object as CustomResourceDefinition)
    for (const { metadata } of reader.list(apiServices)) doubtful.add(metadata.name ?? '')
    await removeLeftOver()
    await doubtful.run(signal)
  } finally {
    for (const stop of stops) stop()
  }
}

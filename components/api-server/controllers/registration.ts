/**
 * Keeps the APIServices of the group versions that this server serves itself. Those of custom resources follow their
 * definitions at all times. Those of built-in groups that are no longer served are deleted at the start, if this server made
 * them (upstream: kube-aggregator autoregister, crdregistration).
 */
import { autoManagedLabel, localApiServices } from '../../api/bootstrap-policy/api-services.ts'
import type { APIService, CustomResourceDefinition } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { deepEqual, type KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { localAvailability } from '../kinds/apiregistration/api-service.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { runKeeper } from './run-keeper.ts'
import { WantedApiServices } from './wanted-api-services.ts'

/** Writes run this many at a time, so that they share flushes. */
const batchSize = 64

export interface RegistrationOptions {
  readonly reader: ObjectReader
  readonly client: LocalClient
  readonly dialect: Dialect
  readonly resources: Resources
  /** Built-in resources that are served. */
  readonly served: readonly Resource[]
  readonly clock: Clock
  readonly log: Log
}

/** Marks an APIService that names no service as served here (upstream: pkg/controllers/status/local). */
async function markLocal(
  current: APIService,
  { client, resources, clock }: RegistrationOptions,
): Promise<void> {
  const { spec, status } = current
  const held = status?.conditions?.find(({ type }) => type === 'Available')
  if (spec?.service || (held?.status === 'True' && held.reason === 'Local')) return
  const others = status?.conditions?.filter(({ type }) => type !== 'Available') ?? []
  const condition = localAvailability(clock.now())
  const local = { ...status, conditions: [...others, condition] }
  const object = { ...current, status: local } as KubeObject
  await client.updateStatus(resources.apiServices, '', object)
}

/** Creates, updates or deletes the APIService of that name so that it is as it is wanted. */
async function settle(
  name: string,
  wanted: KubeObject | undefined,
  options: RegistrationOptions,
): Promise<void> {
  const { reader, client, dialect, resources } = options
  const { apiServices } = resources
  const current = reader.get(apiServices, '', name)
  if (current === undefined) {
    if (wanted === undefined || !client.isReadable(apiServices, '', name)) return
    await client.create(apiServices, '', structuredClone(wanted))
    return
  }
  await markLocal(current as APIService, options)
  // An APIService without the label belongs to a user; one with the other value was made at the start of a server.
  if (current.metadata.labels?.[autoManagedLabel(dialect)] !== 'true') return
  if (wanted === undefined) await client.delete(apiServices, '', name)
  else if (!deepEqual(current['spec'], wanted['spec'])) {
    await client.update(apiServices, '', { ...current, spec: wanted['spec'] as unknown })
  }
}

/** Deletes what an earlier start made for group versions that are no longer served. */
async function removeLeftOver(options: RegistrationOptions): Promise<void> {
  const { reader, client, dialect, resources, served, log } = options
  const { apiServices } = resources
  const names = new Set(localApiServices(dialect, served).map(({ metadata }) => metadata.name))
  const label = autoManagedLabel(dialect)
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

/** Runs until `signal` aborts. */
export async function keepApiServices(
  options: RegistrationOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, dialect, resources, clock, log } = options
  const { apiServices, customResourceDefinitions: definitions } = resources
  const wanted = new WantedApiServices(dialect, new Set(resources.groups.map(({ name }) => name)))
  await removeLeftOver(options)
  await runKeeper(
    {
      name: 'api-service-registration',
      reconcile: (name) => settle(name, wanted.get(name), options),
      watch: (add) => {
        for (const object of reader.list(definitions)) {
          wanted.take(object as CustomResourceDefinition).forEach(add)
        }
        for (const { metadata } of reader.list(apiServices)) add(metadata.name ?? '')
        return [
          reader.onChange(definitions, ({ type, key, object }) => {
            const changed =
              type === 'DELETED'
                ? wanted.release(key)
                : wanted.take(object() as CustomResourceDefinition)
            changed.forEach(add)
          }),
          reader.onChange(apiServices, ({ key }) => add(key)),
        ]
      },
      workers: batchSize,
      clock,
      log,
    },
    signal,
  )
}

/**
 * report-unattended: records an Event about each new object that no controller acts on, so that `kubectl describe` explains
 * why nothing happens.
 */
import type { Resources } from '../../api/resources.ts'
import { unattendedKinds } from '../../api/unattended-kinds.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { createOwnRecorder } from './own-recorder.ts'

export interface UnattendedOptions {
  readonly reader: ObjectReader
  readonly client: LocalClient
  readonly resources: Resources
  readonly clock: Clock
  readonly log: Log
}

/** The listed kinds, each once. */
function unattended(resources: Resources): Map<Resource, string> {
  const found = new Map<string, Resource>()
  for (const resource of resources.all) found.set(resource.storagePrefix, resource)
  return new Map(
    [...unattendedKinds].flatMap(([prefix, why]) => {
      const resource = found.get(prefix)
      return resource === undefined ? [] : [[resource, why] as const]
    }),
  )
}

/** Runs until `signal` aborts. Objects from before the start get no Event. */
export async function reportUnattended(
  options: UnattendedOptions,
  signal: AbortSignal,
): Promise<void> {
  const { reader, client, resources, clock, log } = options
  const recorder = createOwnRecorder(
    { client, resources, clock, log, isOfAll: true },
    'kube-apiserver',
  )
  const stops = [...unattended(resources)].map(([resource, message]) =>
    reader.onChange(resource, ({ type, object }) => {
      if (type === 'ADDED')
        recorder.record(object(), { type: 'Warning', reason: 'NoController', message })
    }),
  )
  try {
    await recorder.run(signal)
  } finally {
    for (const stop of stops) stop()
  }
}

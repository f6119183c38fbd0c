/** get: one object, from the cache's bytes. */
import { objectKindOf } from '../../api/object-kind.ts'
import { expired, notFound, type StatusError } from '../../machinery/objects/status-error.ts'
import { parseRevision } from '../codec/list-options.ts'
import { readyToShow } from '../registry/working-state.ts'
import { answerForm } from '../codec/respond.ts'
import { objectKey } from '../registry/object-key.ts'
import type { WatchCache } from '../watch-cache/watch-cache.ts'
import type { ResourceHandler } from './parts.ts'
import { staleSnapshot } from './stale-snapshot.ts'
import { tooLargeVersion } from './too-large-version.ts'
import { wantedForm } from './wanted-form.ts'

/** Waits until the cache may answer a read at `version`: '' is the newest, '0' any, else at least that. */
export async function freshEnough(cache: WatchCache, version: string): Promise<void> {
  if (version === '0') return
  const wanted = version === '' ? undefined : parseRevision(version)
  if (wanted !== undefined && wanted <= cache.revision) return
  await cache.current()
  if (wanted === undefined) return
  if (wanted > cache.revision) throw tooLargeVersion(wanted, cache.revision)
}

export function tooOldVersion(wanted: number, current: number): StatusError {
  return expired(`too old resource version: ${wanted} (${current})`)
}

export const getObject: ResourceHandler = async (context, resource, parts) => {
  const { info } = context
  const form = wantedForm(context, resource, parts)
  await freshEnough(parts.cache.of(resource), info.query.get('resourceVersion') ?? '')
  const stale = staleSnapshot(context, resource, parts)
  const entry =
    stale === undefined
      ? parts.registry.get(resource, info.namespace, info.name)
      : stale.get(objectKey(resource, info.namespace, info.name))
  if (entry === undefined) throw notFound(resource, info.name)
  if (objectKindOf(resource).isConverted) await readyToShow(resource, [entry])
  return answerForm(200, form, await form.one(entry))
}

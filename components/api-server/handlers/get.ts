/** get: one object, from the cache's bytes. */
import { objectKindOf } from '../../api/object-kind.ts'
import { expired, StatusError } from '../../machinery/objects/status-error.ts'
import { parseRevision } from '../codec/list-options.ts'
import { readyToShow } from '../registry/working-state.ts'
import { answerForm } from '../codec/respond.ts'
import type { WatchCache } from '../watch-cache/watch-cache.ts'
import type { ResourceHandler } from './parts.ts'
import { wantedForm } from './wanted-form.ts'

/** The Retry-After of a read at a revision that this server has not seen yet. */
const notYetSeconds = 1

/** Waits until the cache may answer a read at `version`: '' is the newest, '0' any, else at least that. */
export async function freshEnough(cache: WatchCache, version: string): Promise<void> {
  if (version === '0') return
  const wanted = version === '' ? undefined : parseRevision(version)
  if (wanted !== undefined && wanted <= cache.revision) return
  await cache.current()
  if (wanted === undefined) return
  if (wanted > cache.revision) throw tooLargeVersion(wanted, cache.revision)
}

/** 504 for a resourceVersion from the future. */
export function tooLargeVersion(wanted: number, current: number): StatusError {
  return new StatusError(
    'Timeout',
    `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    {
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: notYetSeconds,
      },
    },
  )
}

export function tooOldVersion(wanted: number, current: number): StatusError {
  return expired(`too old resource version: ${wanted} (${current})`)
}

export const getObject: ResourceHandler = async (context, resource, parts) => {
  const { info } = context
  const form = wantedForm(context, resource, parts)
  await freshEnough(parts.cache, info.query.get('resourceVersion') ?? '')
  const entry = parts.registry.get(resource, info.namespace, info.name)
  if (objectKindOf(resource).isConverted) await readyToShow(resource, [entry])
  return answerForm(200, form, await form.one(entry))
}

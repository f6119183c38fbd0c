/** Parts: what handlers work with. Built once by api-server.ts. */
import type { Dialect } from '../../api/dialect.ts'
import type { Resources } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { KubeObject } from '../../machinery/object.ts'
import type { Resource } from '../../machinery/resource.ts'
import { formFor, type Form, type IncludeObject } from '../forms.ts'
import { negotiate } from '../negotiate.ts'
import type { Answer, RequestContext } from '../request.ts'
import type { Registry } from '../registry/registry.ts'
import type { Written } from '../registry/write.ts'
import type { WatchCache } from '../watch-cache/watch-cache.ts'
import { badRequest } from '../../machinery/status-error.ts'

export interface Parts {
  readonly dialect: Dialect
  readonly resources: Resources
  readonly clock: Clock
  readonly log: Log
  readonly cache: WatchCache
  readonly registry: Registry
  /** Aborts when the server begins to shut down: watches end. */
  readonly stopping: AbortSignal
}

/** A routed resource request's handler. */
export type ResourceHandler = (
  context: RequestContext,
  resource: Resource,
  parts: Parts,
) => Promise<Answer>

/** The form this request wants its answer in. Throws 406. */
export function wantedForm(context: RequestContext, resource: Resource, parts: Parts): Form {
  const { info, http } = context
  const { accept } = http.headers
  const include = info.query.get('includeObject') ?? 'Metadata'
  if (include !== 'None' && include !== 'Metadata' && include !== 'Object' && include !== '') {
    throw badRequest(
      `unrecognized includeObject value: "${include}"; supported: "None", "Metadata", "Object"`,
    )
  }
  return formFor(resource, negotiate(accept, parts.dialect, { isStream: info.verb === 'watch' }), {
    dialect: parts.dialect,
    include: include === '' ? 'Metadata' : (include as IncludeObject),
    now: () => parts.clock.now(),
  })
}

/** The body that shows a write's outcome. A dry run's object was never stored, so a created one has no version. */
export function writtenBytes(form: Form, written: Written, dryRun: boolean): Buffer {
  if (!dryRun || written.outcome !== 'created') return form.one(written.entry)
  const object = JSON.parse(form.one(written.entry).toString()) as KubeObject
  delete object.metadata.resourceVersion
  return Buffer.from(`${JSON.stringify(object)}\n`)
}

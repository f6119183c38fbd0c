/** Parts: what handlers work with. Built once by api-server.ts. */
import type { Dialect } from '../../api/dialect.ts'
import type { Resources } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import { largeBytes, nextTurn } from '../../component-base/next-turn.ts'
import type { Log } from '../../component-base/log.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Cbor } from '../encoding/cbor-form.ts'
import { formFor } from '../codec/form-for.ts'
import { shownObject, type Form, type Shown } from '../encoding/form.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { ContinueTokens } from '../codec/continue-token.ts'
import { forbiddenError } from '../request/forbidden.ts'
import { attributesOf } from '../request/attributes.ts'
import type { Answer, RequestContext } from '../request/request.ts'
import { readyToShow } from '../registry/custom-state.ts'
import { managerOf } from '../registry/field-tracking.ts'
import type { Registry } from '../registry/registry.ts'
import type { Written } from '../request/write.ts'
import type { YamlBodies } from '../encoding/yaml-bodies.ts'
import type { CountWatchEvents } from './watch-metrics.ts'
import type { WatchCache } from '../watch-cache/watch-cache.ts'
import { badRequest } from '../../machinery/objects/status-error.ts'

export interface Parts {
  readonly dialect: Dialect
  readonly resources: Resources
  readonly clock: Clock
  readonly log: Log
  readonly cache: WatchCache
  readonly registry: Registry
  readonly authorizer: Authorizer
  readonly continueTokens: ContinueTokens
  /** Undefined while its feature gate is off. */
  readonly cbor: Cbor | undefined
  readonly yaml: YamlBodies
  /** Aborts when the server begins to shut down: watches end. */
  readonly stopping: AbortSignal
  /** Told of what watches are sent, for metrics. */
  readonly countWatchEvents: CountWatchEvents
}

/** A routed resource request's handler. */
export type ResourceHandler = (
  context: RequestContext,
  resource: Resource,
  parts: Parts,
) => Promise<Answer>

/** The form this request wants its answer in. Throws 406. */
export function wantedForm(
  context: RequestContext,
  resource: Resource,
  parts: Parts,
  subresource = '',
): Form {
  const include = context.info.query.get('includeObject') ?? ''
  if (include !== 'None' && include !== 'Metadata' && include !== 'Object' && include !== '') {
    throw badRequest(
      `unrecognized includeObject value: "${include}"; supported: "None", "Metadata", "Object"`,
    )
  }
  return formFor(context, resource, {
    include: include === '' ? 'Metadata' : include,
    now: () => parts.clock.now(),
    subresource,
  })
}

/** Who owns what a request that is no apply changes. */
export function managerOfRequest(context: RequestContext, fieldManager: string): string {
  const agent = context.http.headers['user-agent']
  return managerOf(fieldManager, Array.isArray(agent) ? agent[0] : agent)
}

/** The version that an If-Match header demands, with or without an entity tag's quotes; any with `*` or none. */
export function demandedVersion(context: RequestContext): string | undefined {
  const header = context.http.headers['if-match']
  if (typeof header !== 'string' || header.trim() === '*') return undefined
  return header.trim().replace(/^"(.*)"$/, '$1')
}

/** Throws 400 unless the object has the name that the path has. */
export function checkNameInUrl(name: string, inUrl: string): void {
  if (name === '') {
    throw badRequest(
      `the name of the object (${inUrl} based on URL) was undeterminable: name must be provided`,
    )
  }
  if (name !== inUrl) {
    throw badRequest(
      `the name of the object (${name}) does not match the name on the URL (${inUrl})`,
    )
  }
}

/** Who may change an object may not yet make it: throws the 403 of a create. */
export async function ensureMayCreate(context: RequestContext, parts: Parts): Promise<void> {
  const attributes = { ...attributesOf(context), verb: 'create' }
  const { decision, reason } = await parts.authorizer.authorize(attributes)
  if (decision !== 'allow') throw forbiddenError(attributes, reason)
}

/** The body that shows a write's outcome. A dry run's object was never stored, so a created one has no version. */
export async function writtenBytes(
  form: Form,
  written: Written,
  of: { resource: Resource; dryRun: boolean },
): Promise<Buffer> {
  const { entry, outcome } = written
  if (entry.mostBytes >= largeBytes) await nextTurn()
  let shown: Shown = entry
  if (of.dryRun && outcome === 'created') {
    const object = entry.draft()
    delete object.metadata.resourceVersion
    if (entry.mostBytes >= largeBytes) await nextTurn()
    shown = shownObject(object)
  }
  if (of.resource.custom !== undefined) await readyToShow(of.resource, [shown])
  return form.one(shown)
}

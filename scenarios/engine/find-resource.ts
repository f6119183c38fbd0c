/** Finding the Resource that a user names by kind, plural, singular or short name: a built-in kind, or one that the server discovers. */
import type { Resources } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { createDiscovery } from '../../components/client/server-resources.ts'
import { nearestName } from '../../components/component-base/flags.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { UnknownKindError } from './unknown-kind-error.ts'

/** How a user names a kind. */
export interface WantedKind {
  readonly kind: string
  readonly apiVersion?: string | undefined
}

/** Rejects with an UnknownKindError when there is no such kind. */
export type FindResource = (wanted: WantedKind) => Promise<Resource>

function findIn(resources: readonly Resource[], wanted: WantedKind): Resource | undefined {
  const name = wanted.kind.toLowerCase()
  return resources.find(
    (resource) =>
      (wanted.apiVersion === undefined || apiVersionOf(resource) === wanted.apiVersion) &&
      (resource.kind.toLowerCase() === name ||
        resource.plural === name ||
        resource.singular === name ||
        resource.shortNames.includes(name)),
  )
}

function unknownKind(
  { kind, apiVersion }: WantedKind,
  known: readonly Resource[],
): UnknownKindError {
  const nearest = nearestName(kind, [...new Set(known.map((one) => one.kind))])
  const what = apiVersion === undefined ? kind : `${kind} of ${apiVersion}`
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
  return new UnknownKindError(`no such kind: ${what}${hint}`)
}

/**
 * Finds kinds of one server; without an apiVersion the first that is served. Only a name that no built-in kind has is looked for
 * in discovery, each time, since definitions come and go. While the server is away, the last discovery counts.
 */
export function createFindResource(resources: Resources, client: Client): FindResource {
  const discover = createDiscovery(client)
  let discovered: readonly Resource[] = []
  return async (wanted) => {
    const builtIn = findIn(resources.all, wanted)
    if (builtIn !== undefined) return builtIn
    try {
      const { all, preferred } = await discover()
      discovered = [...preferred, ...all]
    } catch (error) {
      if (!(error instanceof ConnectionError) || discovered.length === 0) throw error
    }
    const found = findIn(discovered, wanted)
    if (found === undefined) throw unknownKind(wanted, [...resources.all, ...discovered])
    return found
  }
}

/** Adds the namespace to a namespaced object that has none. */
export function placed(
  resource: Resource,
  object: Record<string, unknown>,
  namespace = 'default',
): KubeObject {
  const whole = object as KubeObject
  if (!resource.namespaced || whole.metadata.namespace !== undefined) return whole
  return { ...whole, metadata: { ...whole.metadata, namespace } }
}

/** `Pod default/web`, `Node node-1`. */
export function describeObject(object: { kind?: unknown; metadata?: unknown }): string {
  const { namespace, name, generateName } = (object.metadata ?? {}) as Record<string, string>
  const place = name ?? (generateName === undefined ? '?' : `${generateName}*`)
  const kind = typeof object.kind === 'string' ? object.kind : 'object'
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${place}`
}

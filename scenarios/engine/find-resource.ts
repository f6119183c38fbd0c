/** Finding the Resource that a scenario names by kind, plural or short name. */
import type { Resources } from '../../components/api/resources.ts'
import { nearestName } from '../../components/component-base/flags.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'

/** The resource of that kind; without an apiVersion the first that is served. Throws for an unknown one. */
export function findResource(
  resources: Resources,
  wanted: { kind: string; apiVersion?: string | undefined },
): Resource {
  const name = wanted.kind.toLowerCase()
  const found = resources.all.find(
    (resource) =>
      (wanted.apiVersion === undefined || apiVersionOf(resource) === wanted.apiVersion) &&
      (resource.kind.toLowerCase() === name ||
        resource.plural === name ||
        resource.shortNames.includes(name)),
  )
  if (found !== undefined) return found
  const nearest = nearestName(wanted.kind, [...new Set(resources.all.map((one) => one.kind))])
  const what =
    wanted.apiVersion === undefined ? wanted.kind : `${wanted.kind} of ${wanted.apiVersion}`
  throw new Error(
    `no such kind: ${what}${nearest === undefined ? '' : `; did you mean ${nearest}?`}`,
  )
}

/** The object as it is sent: a namespaced one without a namespace goes to `default`. */
export function placed(resource: Resource, object: Record<string, unknown>): KubeObject {
  const whole = object as KubeObject
  if (!resource.namespaced || whole.metadata.namespace !== undefined) return whole
  return { ...whole, metadata: { ...whole.metadata, namespace: 'default' } }
}

/** `Pod default/web`, `Node node-1`. */
export function describeObject(object: { kind?: unknown; metadata?: unknown }): string {
  const { namespace, name, generateName } = (object.metadata ?? {}) as Record<string, string>
  const place = name ?? (generateName === undefined ? '?' : `${generateName}*`)
  const kind = typeof object.kind === 'string' ? object.kind : 'object'
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${place}`
}

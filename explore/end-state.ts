/** EndState: the objects that a controller is judged by, without what differs between any two runs. */
import { createDiscovery } from '../components/client/server-resources.ts'
import type { Client } from '../components/client/client.ts'
import { labelKey } from '../components/api/dialect.ts'
import { differences, pathText } from '../components/machinery/objects/differences.ts'
import type { KubeObject } from '../components/machinery/objects/object.ts'
import { apiVersionOf, qualifiedName } from '../components/machinery/objects/resource.ts'
import type { Resource } from '../components/machinery/objects/resource.ts'
import { isStatusError } from '../components/machinery/objects/status-error.ts'

/** By `Kind namespace/name`; a generated name is its prefix with a star, and a number where there are several. */
export type EndState = ReadonlyMap<string, unknown>

/** A field of one object, or of all of its kind (`id` undefined), that says nothing about the controller. */
export interface IgnoredField {
  readonly id?: string
  readonly path: string
}

/** As of a StateDifference: what is wrong with the object. */
export type DifferenceKind = 'missing' | 'left-behind' | 'made-twice' | 'differs'

export interface StateDifference {
  readonly kind: DifferenceKind
  readonly object: string
  /** `differs`: where. */
  readonly path?: string
  readonly expected?: unknown
  readonly actual?: unknown
}

const serverFields = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
  'selfLink',
])
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** Resources as plans name them, without sub-resources. */
export function plainName(resource: string): string {
  return resource.replace(/\/.*$/, '')
}

/** Reads the objects of these resources (`configmaps`, `deployments.apps`). One that is not served has none. */
export function createStateReader(client: Client) {
  const discover = createDiscovery(client)
  let known = new Map<string, Resource>()
  const find = async (name: string): Promise<Resource | undefined> => {
    if (!known.has(name)) {
      const { preferred } = await discover()
      known = new Map(preferred.map((one) => [qualifiedName(one), one]))
    }
    return known.get(name)
  }
  const list = async (name: string): Promise<readonly KubeObject[]> => {
    const resource = await find(name)
    if (resource === undefined) return []
    try {
      const { items } = await client.resource(resource).list()
      const apiVersion = apiVersionOf(resource)
      return items.map((one) => ({ ...one, apiVersion, kind: resource.kind }))
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return []
      throw error
    }
  }
  return {
    read: async (resources: Iterable<string>): Promise<EndState> =>
      stateOf((await Promise.all([...resources].map(list))).flat(), client),
    /** `configmaps` for a ConfigMap; undefined for a kind that is not served. */
    resourceOf: async (
      kind: string,
      apiVersion: string | undefined,
    ): Promise<string | undefined> => {
      const { preferred } = await discover()
      const wanted = kind.toLowerCase()
      const found = preferred.find(
        (one) =>
          (apiVersion === undefined || apiVersionOf(one) === apiVersion) &&
          (one.kind.toLowerCase() === wanted ||
            one.plural === wanted ||
            one.shortNames.includes(wanted)),
      )
      return found && qualifiedName(found)
    },
  }
}

export type StateReader = ReturnType<typeof createStateReader>

/** The texts that stand for others: generated names and uids. */
function replacements(objects: readonly KubeObject[]): Map<string, string> {
  const known = new Map<string, string>()
  for (const { metadata } of objects) {
    const {
      uid,
      name = '',
      generateName,
    } = metadata as KubeObject['metadata'] & {
      generateName?: string
    }
    if (uid !== undefined) known.set(uid, '<uid>')
    if (generateName !== undefined && generateName !== '') known.set(name, `${generateName}*`)
  }
  return known
}

function cleaned(value: unknown, known: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return known.get(value) ?? (time.test(value) ? '<time>' : value)
  if (Array.isArray(value)) return value.map((one) => cleaned(one, known))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([name]) => name !== 'observedGeneration')
  return Object.fromEntries(
    entries.map(([name, one]) => [known.get(name) ?? name, cleaned(one, known)]),
  )
}

function stateOf(objects: readonly KubeObject[], { dialect }: Client): EndState {
  const known = replacements(objects)
  const revision = labelKey(dialect, 'deployment', 'revision')
  const byId = new Map<string, unknown[]>()
  for (const { metadata, ...rest } of objects) {
    const kept = Object.entries(metadata).filter(([name]) => !serverFields.has(name))
    const { annotations, ...meta } = Object.fromEntries(kept)
    const notes = Object.entries((annotations ?? {}) as object).filter(([key]) => key !== revision)
    const whole = {
      ...rest,
      metadata: {
        ...meta,
        ...(notes.length === 0 ? {} : { annotations: Object.fromEntries(notes) }),
      },
    }
    const { namespace, name = '' } = metadata
    const place = [namespace, known.get(name) ?? name].filter((part) => part).join('/')
    const id = `${rest.kind ?? ''} ${place}`
    byId.set(id, [...(byId.get(id) ?? []), cleaned(whole, known)])
  }
  const state = new Map<string, unknown>()
  for (const [id, same] of [...byId].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const texts = same.map((one) => JSON.stringify(one)).sort()
    for (const [index, text] of texts.entries())
      state.set(index === 0 ? id : `${id} #${index + 1}`, JSON.parse(text))
  }
  return state
}

function isIgnored(
  { object, path = '' }: StateDifference,
  ignored: readonly IgnoredField[],
): boolean {
  return ignored.some(
    ({ id, path: field }) =>
      (id === undefined || id === object) &&
      (path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`)),
  )
}

/** What is not as in `expected`. */
export function compareStates(
  expected: EndState,
  actual: EndState,
  ignored: readonly IgnoredField[] = [],
): StateDifference[] {
  const found: StateDifference[] = []
  for (const [object, wanted] of expected) {
    if (!actual.has(object)) {
      found.push({ kind: 'missing', object })
      continue
    }
    for (const { path, before, after } of differences(wanted, actual.get(object)))
      found.push({ kind: 'differs', object, path: pathText(path), expected: before, actual: after })
  }
  for (const object of actual.keys()) {
    if (expected.has(object)) continue
    const isMore = object.includes('*') && / #\d+$/.test(object)
    found.push({ kind: isMore ? 'made-twice' : 'left-behind', object })
  }
  return found.filter((one) => !isIgnored(one, ignored))
}

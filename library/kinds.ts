/** Kinds: which resource a request is for. What discovery said is kept until a request shows that it is out of date. */
import { resourcesOf } from '../components/api/resources.ts'
import type { Client } from '../components/client/client.ts'
import { apiVersionOf } from '../components/machinery/objects/resource.ts'
import type { Resource } from '../components/machinery/objects/resource.ts'
import { StatusError } from '../components/machinery/objects/status-error.ts'
import { createFindResource } from '../scenarios/engine/find-resource.ts'
import { UnknownKindError } from '../scenarios/engine/unknown-kind-error.ts'
import type { WantedKind } from '../scenarios/engine/find-resource.ts'

export interface Kinds {
  /**
   * The result of `request` for the kind. When the server does not serve its path any more, the kind is looked up again and the
   * request repeated, if that makes a difference. Rejects with an UnknownKindError, which suggests the nearest name.
   */
  request<R>(wanted: WantedKind, request: (resource: Resource) => Promise<R>): Promise<R>
  /** Looked up now. Rejects with an UnknownKindError. */
  find(wanted: WantedKind): Promise<Resource>
  /** The resource below which objects of this kind are written: that of the kind itself, or the one that has it as a sub-resource. */
  parent(wanted: WantedKind, subresource: string): Promise<Resource>
}

/** The answer for a path that no resource has: it names no object. For an unknown group it is not even a Status. */
export function isUnserved(error: unknown): boolean {
  if (!(error instanceof StatusError)) return false
  return error.code === 405 || (error.code === 404 && error.details?.name === undefined)
}

export function createKinds(client: Client): Kinds {
  const resources = resourcesOf(client.dialect)
  const find = createFindResource(resources, client)
  const known = new Map<string, Promise<Resource>>()
  const keyOf = ({ apiVersion = '', kind }: WantedKind): string =>
    `${apiVersion} ${kind.toLowerCase()}`

  const lookUp = async (wanted: WantedKind): Promise<Resource> => {
    const key = keyOf(wanted)
    const looking = known.get(key) ?? find(wanted)
    known.set(key, looking)
    try {
      return await looking
    } catch (error) {
      if (known.get(key) === looking) known.delete(key)
      throw error
    }
  }
  const lookUpIfAny = (wanted: WantedKind): Promise<Resource | undefined> =>
    lookUp(wanted).catch((error: unknown) => {
      if (error instanceof UnknownKindError) return undefined
      throw error
    })
  const forget = (wanted: WantedKind): void => void known.delete(keyOf(wanted))

  return {
    request: async (wanted, request) => {
      const resource = await lookUp(wanted)
      try {
        return await request(resource)
      } catch (error) {
        if (!isUnserved(error)) throw error
        forget(wanted)
        const now = await lookUp(wanted)
        if (now === resource) throw error
        return await request(now)
      }
    },
    find: async (wanted) => {
      forget(wanted)
      return await lookUp(wanted)
    },
    parent: async (wanted, subresource) => {
      const has = (resource: Resource | undefined): resource is Resource =>
        resource?.subresources.some(({ name }) => name === subresource) === true
      const before = await lookUpIfAny(wanted)
      if (has(before)) return before
      forget(wanted)
      const own = await lookUpIfAny(wanted)
      if (has(own)) return own
      return onlyParent(resources.all, wanted, subresource)
    },
  }
}

/** Throws an UnknownKindError for none, and for several. */
function onlyParent(all: readonly Resource[], wanted: WantedKind, subresource: string): Resource {
  const [only, ...more] = parentsOf(all, wanted, subresource)
  const what = `a sub-resource ${subresource} of kind ${wanted.kind}`
  if (only === undefined) throw new UnknownKindError(`no kind has ${what}`)
  if (more.length === 0) return only
  throw new UnknownKindError(
    `several kinds have ${what}, such as ${only.kind}: patch it by the kind that has it`,
  )
}

/** The kinds, each once, that have a sub-resource of that name and kind. */
function parentsOf(
  all: readonly Resource[],
  { kind, apiVersion }: WantedKind,
  subresource: string,
): Resource[] {
  const isWanted = (resource: Resource): boolean =>
    resource.subresources.some(
      (one) =>
        one.name === subresource &&
        one.kind === kind &&
        (apiVersion === undefined ||
          apiVersion ===
            apiVersionOf({
              group: one.group ?? resource.group,
              version: one.version ?? resource.version,
            })),
    )
  const found = new Map<string, Resource>()
  for (const one of all.filter(isWanted)) found.set(`${one.group}/${one.plural}`, one)
  return [...found.values()]
}

/** ObjectClient: the verbs of the API for users of the library, by kind, plural or short name. Arguments are checked at the door. */
import type { KubeObject } from '../components/machinery/objects/object.ts'
import { apiVersionOf } from '../components/machinery/objects/resource.ts'
import type { Resource } from '../components/machinery/objects/resource.ts'
import { placed } from '../scenarios/engine/find-resource.ts'
import { listOptions } from '../scenarios/engine/selection.ts'
import { connect, productName } from './connection.ts'
import type { Connection, ConnectionOptions } from './connection.ts'
import { checkedBy } from './option-shapes.ts'
import { checkObject, requestShapes } from './request-options.ts'
import type { KubernetesObject, ObjectClient, ObjectReference, WriteOptions } from './types.ts'
import { watchObjects } from './watch-objects.ts'

/** A client of its own connection, which `close` ends. Without credentials it is anonymous. */
export function createObjectClient(options: ConnectionOptions): ObjectClient {
  return objectClientOver(connect(options))
}

/** A client over a connection that exists already; closing it closes that one. */
export function objectClientOver(connection: Connection): ObjectClient {
  const { client, namespace } = connection
  const close = (): void => client.close()
  return {
    namespace,
    ...readVerbs(connection),
    ...objectVerbs(connection),
    ...referenceVerbs(connection),
    request: (request) => send(connection, request),
    kubeconfig: connection.kubeconfig,
    close,
    [Symbol.dispose]: close,
  }
}

/** Namespace and name of a reference; cluster-scoped kinds have no namespace. */
function placeOf(of: ObjectReference, resource: Resource, namespace: string) {
  return resource.namespaced
    ? { namespace: of.namespace ?? namespace, name: of.name }
    : { name: of.name }
}

function readVerbs(connection: Connection): Pick<ObjectClient, 'get' | 'list' | 'watch'> {
  const { client, kinds, namespace: fallback } = connection
  return {
    get: async <T>(of: unknown, options: unknown = {}): Promise<T> => {
      const wanted = checkedBy(requestShapes.reference, 'get', of)
      const given = checkedBy(requestShapes.read, 'get', options)
      return await kinds.request(
        wanted,
        async (resource) =>
          (await client.resource(resource).get(placeOf(wanted, resource, fallback), given)) as T,
      )
    },
    list: async <T>(of: unknown, options: unknown = {}) => {
      const wanted = checkedBy(requestShapes.selection, 'list', of)
      const { signal } = checkedBy(requestShapes.signalOnly, 'list', options)
      return await kinds.request(wanted, async (resource) => {
        const isNamespaced = resource.namespaced
        const selected = listOptions(wanted, { isNamespaced, fallback })
        return (await client.resource(resource).list(selected, signal)).items as T[]
      })
    },
    watch: (of, options = {}) => {
      const wanted = checkedBy(requestShapes.selection, 'watch', of)
      const { signal } = checkedBy(requestShapes.signalOnly, 'watch', options)
      return watchObjects(connection, wanted, signal)
    },
  }
}

/** The object with its kind's own name, its version, and a namespace if it needs one. */
function complete(object: KubernetesObject, resource: Resource, namespace: string): KubeObject {
  const { kind } = resource
  const apiVersion = object.apiVersion ?? apiVersionOf(resource)
  const metadata = object.metadata ?? {}
  return placed(resource, { ...object, apiVersion, kind, metadata }, namespace)
}

interface ObjectWrite {
  readonly object: unknown
  readonly options: WriteOptions | undefined
}

/** Sends a whole object to its kind's path or to a sub-resource, which may have a kind of its own (eviction, token, scale). */
async function write(
  { client, kinds, namespace }: Connection,
  door: 'create' | 'replace',
  { object, options = {} }: ObjectWrite,
): Promise<unknown> {
  const given = checkedBy(requestShapes.write, door, options)
  const { subresource } = given
  const needsName = door === 'replace' || subresource !== undefined
  const wanted = checkObject(door, object, { needsName })
  if (subresource === undefined)
    return await kinds.request(wanted, async (resource) => {
      const verbs = client.resource(resource)
      const whole = complete(wanted, resource, namespace)
      return await (door === 'create' ? verbs.create(whole, given) : verbs.update(whole, given))
    })
  const resource = await kinds.parent(wanted, subresource)
  const part = completePart(wanted, { resource, subresource, namespace })
  const { namespace: place, name = '' } = part.metadata
  const verbs = client.resource(resource)
  const send = door === 'create' ? verbs.createSubresource : verbs.updateSubresource
  return await send({ namespace: place, name }, subresource, part, given)
}

/** The object of a sub-resource: of the kind that has it, or of a kind of its own. */
function completePart(
  object: KubernetesObject & { readonly kind: string },
  at: { readonly resource: Resource; readonly subresource: string; readonly namespace: string },
): KubeObject {
  const { resource, subresource, namespace } = at
  const part = resource.subresources.find(({ name }) => name === subresource)
  const { group = resource.group, version = resource.version, kind = resource.kind } = part ?? {}
  const whole = complete(object, resource, namespace)
  if (kind === resource.kind) return whole
  return { ...whole, apiVersion: object.apiVersion ?? apiVersionOf({ group, version }), kind }
}

function objectVerbs(connection: Connection): Pick<ObjectClient, 'create' | 'replace' | 'apply'> {
  const { client, kinds, namespace } = connection
  return {
    create: async (object, options) =>
      (await write(connection, 'create', { object, options })) as typeof object,
    replace: async (object, options) =>
      (await write(connection, 'replace', { object, options })) as typeof object,
    apply: async (object, options = {}) => {
      const given = checkedBy(requestShapes.apply, 'apply', options)
      const wanted = checkObject('apply', object, { needsName: true })
      return await kinds.request(wanted, async (resource) => {
        const whole = complete(wanted, resource, namespace)
        const { namespace: place, name = '' } = whole.metadata
        const how = { fieldManager: productName, ...given, type: 'apply' } as const
        const verbs = client.resource(resource)
        const stored: unknown = await verbs.patch({ namespace: place, name }, whole, how)
        return stored as typeof object
      })
    },
  }
}

function referenceVerbs(connection: Connection): Pick<ObjectClient, 'patch' | 'delete'> {
  const { client, kinds, namespace } = connection
  return {
    patch: async <T>(of: unknown, patch: unknown, options: unknown) => {
      const wanted = checkedBy(requestShapes.reference, 'patch', of)
      const given = checkedBy(requestShapes.patch, 'patch', options)
      const owner = given.type === 'apply' ? { fieldManager: productName } : {}
      return await kinds.request(wanted, async (resource) => {
        const place = placeOf(wanted, resource, namespace)
        return (await client.resource(resource).patch(place, patch, { ...owner, ...given })) as T
      })
    },
    delete: async (of, options = {}) => {
      const wanted = checkedBy(requestShapes.reference, 'delete', of)
      const given = checkedBy(requestShapes.delete, 'delete', options)
      await kinds.request(wanted, async (resource) => {
        await client.resource(resource).delete(placeOf(wanted, resource, namespace), given)
      })
    },
  }
}

/** The parsed answer; of an answer that is not JSON (a log, metrics) its text. */
async function send({ client }: Connection, request: unknown): Promise<unknown> {
  const given = checkedBy(requestShapes.request, 'request', request)
  const { headers, body } = await client.rest.bytes(given)
  if (body.length === 0) return undefined
  const text = body.toString()
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(headers['content-type'] ?? '')
  return isJson ? (JSON.parse(text) as unknown) : text
}

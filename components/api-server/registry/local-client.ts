/**
 * LocalClient: how the server writes its own objects: by requests as `system:apiserver` that leave the records every request
 * leaves, but take no connection and no bytes (upstream: the loopback client).
 */
import type { KubeObject } from '../../machinery/objects/object.ts'
import { resourcePath, type Resource } from '../../machinery/objects/resource.ts'
import { StatusError } from '../../machinery/objects/status-error.ts'
import { asStatusError } from '../codec/respond.ts'
import { deleteObject } from './delete.ts'
import { managerOf } from './field-tracking.ts'
import { objectKey } from './object-key.ts'
import type { Registry } from './registry.ts'
import {
  noteMade,
  noteNamed,
  type Answer,
  type Filter,
  type HttpRequest,
  type Next,
  type UserInfo,
} from '../request/request.ts'
import type { Written } from '../request/write.ts'

export interface LocalClient {
  /** The newest committed state; undefined without one. Synchronous, from the watch cache. */
  get(resource: Resource, namespace: string, name: string): KubeObject | undefined
  /** False when something is stored there, or for its namespace, that cannot be read: then it cannot be written either. */
  isReadable(resource: Resource, namespace: string, name: string): boolean
  /** Rejects with a StatusError: AlreadyExists when another server was first. */
  create(resource: Resource, namespace: string, object: KubeObject): Promise<unknown>
  /** The object carries the resourceVersion it was read at. Rejects with a StatusError: Conflict when it has changed since. */
  update(resource: Resource, namespace: string, object: KubeObject): Promise<unknown>
  /** Background propagation. Rejects with a StatusError: NotFound when it is gone. */
  delete(resource: Resource, namespace: string, name: string): Promise<unknown>
  /** As `update`, of the sub-resource `status`. */
  updateStatus(resource: Resource, namespace: string, object: KubeObject): Promise<unknown>
}

const ownUser: UserInfo = {
  name: 'system:apiserver',
  groups: ['system:masters', 'system:authenticated'],
}

/** Takes the place of authentication for the server's own requests. */
export const asOwnUser: Filter = async (context, next) => {
  context.user = ownUser
  return await next(context)
}

const noBytes = Buffer.alloc(0)

interface OwnWrite {
  readonly user: UserInfo
  readonly dryRun: false
  readonly manager: string
  readonly warnings: string[]
}

export interface LocalClientOptions {
  readonly registry: Registry
  /** The chain of the server's own requests around their last step. */
  readonly send: (http: HttpRequest, last: Next) => Promise<Answer>
  readonly userAgent: string
}

/** One of the server's own writes, as the chain sees it. */
interface OwnRequest {
  readonly method: 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly resource: Resource
  readonly object: KubeObject
}

/** Runs `act` as the last step of a request. */
type SendOwn = (to: OwnRequest, act: (write: OwnWrite) => Promise<Written>) => Promise<void>

/** What `act` throws is an answer to the chain and an error to the caller, as for any client. */
function sendOwn({ send, userAgent }: LocalClientOptions): SendOwn {
  const { signal } = new AbortController()
  const headers = { 'user-agent': userAgent }
  const manager = managerOf('', userAgent)
  const body = (): Promise<Buffer> => Promise.resolve(noBytes)
  const values = (): string[] => []
  return async ({ method, url, resource, object }, act) => {
    let failure: unknown
    const { status } = await send(
      { method, url, headers, values, remoteAddress: '::1', peer: undefined, body, signal },
      async (context) => {
        context.resource = resource
        noteNamed(context, object)
        try {
          const { entry, outcome } = await act({
            user: ownUser,
            dryRun: false,
            manager,
            warnings: [],
          })
          if (outcome !== 'unchanged') noteMade(context, entry.key, entry.revision)
        } catch (error) {
          failure = error
          throw error
        }
        return { status: method === 'POST' ? 201 : 200, headers: {}, body: noBytes }
      },
    )
    if (failure !== undefined) throw asStatusError(failure)
    // A filter rejected the request before the write.
    if (status >= 400) {
      throw new StatusError('', `${method} ${url} was answered ${status}`, { code: status })
    }
  }
}

export function localClientOf(options: LocalClientOptions): LocalClient {
  const { registry } = options
  const request = sendOwn(options)

  function put(
    resource: Resource,
    namespace: string,
    { object, subresource }: { object: KubeObject; subresource: string },
  ): Promise<void> {
    const { name = '' } = object.metadata
    const at = { namespace, name, ...(subresource === '' ? {} : { subresource }) }
    const url = resourcePath(resource, at)
    const change = (): KubeObject => structuredClone(object)
    return request({ method: 'PUT', url, resource, object }, (write) =>
      registry.update({ ...write, resource, namespace, name, subresource, change }),
    )
  }

  function remove(resource: Resource, namespace: string, name: string): Promise<void> {
    const url = resourcePath(resource, { namespace, name })
    const object = { metadata: { namespace, name } }
    return request({ method: 'DELETE', url, resource, object }, (write) =>
      deleteObject(registry, {
        ...write,
        resource,
        namespace,
        name,
        gracePeriodSeconds: undefined,
        preconditions: {},
        propagation: 'Background',
      }),
    )
  }

  return {
    get: (resource, namespace, name) => registry.cache.get(resource, namespace, name),
    isReadable: (resource, namespace, name) => {
      const { stored, resources } = registry
      return (
        stored.unreadable(resource, objectKey(resource, namespace, name)) === undefined &&
        stored.unreadable(resources.namespaces, namespace) === undefined
      )
    },
    create: (resource, namespace, object) =>
      request(
        { method: 'POST', url: resourcePath(resource, { namespace }), resource, object },
        (write) => registry.create({ ...write, resource, namespace, object }),
      ),
    update: (resource, namespace, object) => put(resource, namespace, { object, subresource: '' }),
    delete: remove,
    updateStatus: (resource, namespace, object) =>
      put(resource, namespace, { object, subresource: 'status' }),
  }
}

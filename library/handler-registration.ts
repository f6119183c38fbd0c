/** Registrations: what makes the API server call a server of handlers, until they are disposed of. */
import { ConnectionError } from '../components/client/connection-error.ts'
import { messageOf } from '../components/component-base/log.ts'
import { isStatusError } from '../components/machinery/objects/status-error.ts'
import type { HandlerServer } from './handler-server.ts'
import type { KubernetesObject, ObjectClient, Registration } from './types.ts'

function rejection({ what, errors }: HandlerServer): unknown {
  const [first] = errors
  if (errors.length === 1) return first
  return new AggregateError(
    errors,
    `the handler of ${what} failed ${errors.length} times, first: ${messageOf(first)}`,
  )
}

/**
 * Resolves once `register` has; `register` gives what takes it back, and leaves nothing when it rejects. `dispose` takes it back and
 * stops the server in any case. It rejects with what the handler threw, so that `await using` fails the test.
 */
export async function registered(
  server: HandlerServer,
  register: () => Promise<() => Promise<void>>,
): Promise<Registration> {
  let unregister: () => Promise<void>
  try {
    unregister = await register()
  } catch (error) {
    await server.stop()
    throw error
  }
  const end = async (): Promise<void> => {
    try {
      await unregister()
    } finally {
      await server.stop()
    }
    if (server.errors.length > 0) throw rejection(server)
  }
  let ended: Promise<void> | undefined
  const dispose = (): Promise<void> => (ended ??= end())
  return { dispose, [Symbol.asyncDispose]: dispose }
}

/** Whether the object of a request, or the whole cluster, is gone. */
export function isGone(error: unknown): boolean {
  return isStatusError(error, 'NotFound') || error instanceof ConnectionError
}

/**
 * Deletes the object, unless it is gone or not `isOwn` by now: with a restored state, or with the cluster. Its uid does not tell: a
 * cluster that was reset gives the same ones again.
 */
export async function deleteOwn(
  client: ObjectClient,
  { apiVersion, kind = '', metadata: { name = '', namespace } = {} }: KubernetesObject,
  isOwn: (now: KubernetesObject) => boolean,
): Promise<void> {
  const object = { apiVersion, kind, name, namespace }
  try {
    if (isOwn(await client.get(object))) await client.delete(object)
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

/** Control client: calls a cluster's supervisor over its control socket. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { basename } from 'node:path'
import { systemClock } from '../components/component-base/clock.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { ClusterError } from './cluster-error.ts'
import { connectTo } from './control-address.ts'
import type {
  ComponentStatus,
  ControlMethod,
  ControlMethods,
  ControlReply,
} from './control-protocol.ts'
import { readLines } from './lines.ts'
import { nameFlagOf } from './state/state-dir.ts'
import type { StatePaths } from './state/state-dir.ts'

export interface ControlClient {
  /** Rejects with the supervisor's ClusterError, or with one of kind `not-running` when the connection ends first. */
  call<M extends ControlMethod>(
    method: M,
    params: ControlMethods[M]['params'],
    onEvent?: (event: ComponentStatus) => void,
  ): Promise<ControlMethods[M]['result']>
  /** Resolves when either side has ended the connection. */
  readonly closed: Promise<void>
  close(): void
}

/** A supervisor answers within a millisecond; one that takes this long is stopped or stuck. */
const answerMs = 5000

function notAnswering(paths: StatePaths, cause?: unknown): ClusterError {
  const name = basename(paths.dir)
  const suffix = nameFlagOf(name)
  return new ClusterError('not-running', `the supervisor of cluster "${name}" does not answer`, {
    hint: `start it again with its data: skiff up${suffix}; or remove the cluster: skiff down${suffix}`,
    cause,
  })
}

interface PendingCall {
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
  readonly onEvent: ((event: ComponentStatus) => void) | undefined
}

/** Calls and replies over a connected socket, matched by id. `gone` makes the error of calls that the connection cuts off. */
function callsOver(socket: Socket, gone: () => ClusterError): ControlClient {
  const pending = new Map<number, PendingCall>()
  let lastId = 0
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      for (const call of pending.values()) call.reject(gone())
      pending.clear()
      resolve()
    })
  })
  void readLines(socket, (line) => {
    let reply: ControlReply
    try {
      reply = JSON.parse(line) as ControlReply
    } catch {
      socket.destroy() // a supervisor that is killed while it writes leaves a truncated line
      return
    }
    const call = pending.get(reply.id)
    if (call === undefined) return
    if ('event' in reply) {
      call.onEvent?.(reply.event)
      return
    }
    pending.delete(reply.id)
    if ('result' in reply) call.resolve(reply.result as never)
    else call.reject(new ClusterError(reply.fault.kind, reply.fault.message, reply.fault))
  })
  return {
    call: (method, params, onEvent) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) {
          reject(gone())
          return
        }
        lastId += 1
        pending.set(lastId, { resolve, reject, onEvent })
        socket.write(`${JSON.stringify({ id: lastId, method, params })}\n`)
      }),
    closed,
    close: () => void socket.end(),
  }
}

/** Rejects with kind `not-running` unless the supervisor answers in time. The system accepts connections for a stopped process too. */
async function checkAnswers(
  client: ControlClient,
  { socket, name, clock }: { socket: Socket; name: string; clock: Clock },
): Promise<void> {
  const patience = new AbortController()
  const late = clock.sleep(answerMs, patience.signal).then(() => 'late' as const)
  try {
    if ((await Promise.race([client.call('status', {}), late])) !== 'late') return
    socket.destroy()
    throw new ClusterError(
      'not-running',
      `the supervisor of cluster "${name}" is running but not responding`,
      { hint: `it may be stopped; end it with: skiff down --keep-data --name ${name}` },
    )
  } finally {
    patience.abort(new Error('it answered'))
  }
}

/** Opens a connection to the supervisor of the cluster in `paths`. Rejects with kind `not-running` when none answers. */
export async function connectControl(
  paths: StatePaths,
  clock: Clock = systemClock,
): Promise<ControlClient> {
  let socket: Socket
  try {
    socket = connectTo(paths.socket)
    await once(socket, 'connect')
  } catch (error) {
    throw notAnswering(paths, error)
  }
  const client = callsOver(socket, () => notAnswering(paths))
  await checkAnswers(client, { socket, name: basename(paths.dir), clock })
  return client
}

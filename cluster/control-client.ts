/** Control client: calls to a cluster's supervisor. */
import { createConnection } from 'node:net'
import type { Socket } from 'node:net'
import { basename } from 'node:path'
import { systemClock } from '../components/component-base/clock.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { ClusterError } from './cluster-error.ts'
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
  /** Rejects with the supervisor's ClusterError, or one of kind `not-running` when it goes away before it answers. */
  call<M extends ControlMethod>(
    method: M,
    params: ControlMethods[M]['params'],
    onEvent?: (event: ComponentStatus) => void,
  ): Promise<ControlMethods[M]['result']>
  /** Resolves when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>
  close(): void
}

/** The longest path a unix socket address holds on every system we run on. */
const longestSocketPath = 100

/** Connects; a path too long for a socket address is reached from inside its folder. */
function connect(paths: StatePaths): Socket {
  if (Buffer.byteLength(paths.socket) <= longestSocketPath) return createConnection(paths.socket)
  const before = process.cwd()
  process.chdir(paths.dir)
  try {
    return createConnection('control.sock')
  } finally {
    process.chdir(before)
  }
}

/** A supervisor answers within a millisecond; one that takes this long is stopped or stuck. */
const answerMs = 5000

/** Opens a connection to the supervisor of the cluster in `paths`; kind `not-running` when there is none, or none that answers. */
export async function connectControl(
  paths: StatePaths,
  clock: Clock = systemClock,
): Promise<ControlClient> {
  const name = basename(paths.dir)
  const suffix = nameFlagOf(name)
  const gone = (cause?: unknown): ClusterError =>
    new ClusterError('not-running', `the supervisor of cluster "${name}" does not answer`, {
      hint: `go on with its data: skiff up${suffix}; or remove it: skiff down${suffix}`,
      cause,
    })
  let socket: Socket
  try {
    socket = connect(paths)
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
  } catch (error) {
    throw gone(error)
  }

  interface Pending {
    readonly resolve: (result: never) => void
    readonly reject: (error: Error) => void
    readonly onEvent: ((event: ComponentStatus) => void) | undefined
  }
  const pending = new Map<number, Pending>()
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
      socket.destroy() // a supervisor that is killed while it writes leaves a line cut short
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

  const client: ControlClient = {
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
  // The system accepts connections for a stopped process too; only an answer shows that it lives.
  const patience = new AbortController()
  const late = clock.sleep(answerMs, patience.signal).then(() => 'late' as const)
  try {
    if ((await Promise.race([client.call('status', {}), late])) === 'late') {
      socket.destroy()
      throw new ClusterError('not-running', 'the supervisor of this cluster is there, but silent', {
        hint: `it may be stopped; end it with: skiff down --keep-data --name ${name}`,
      })
    }
  } finally {
    patience.abort(new Error('it answered'))
  }
  return client
}

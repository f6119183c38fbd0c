/**
 * Control server: the supervisor's end of the socket. Only the cluster's owner can connect: the folder is 0700, the socket 0600. For a pipe
 * of Windows see control-address.ts.
 */
import { chmodSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { ClusterError } from '../cluster-error.ts'
import { connectTo, namedPipe, newPipe } from '../control-address.ts'
import { readLines } from '../lines.ts'
import type {
  ComponentStatus,
  ControlFault,
  ControlHandlers,
  ControlReply,
  ControlRequest,
} from '../control-protocol.ts'
import { writePrivateFile } from '../state/state-dir.ts'

function faultOf(error: unknown): ControlFault {
  if (error instanceof ClusterError) {
    const { kind, message, hint, details, systemCode } = error
    return {
      kind,
      message,
      details,
      ...(hint === undefined ? {} : { hint }),
      ...(systemCode === undefined ? {} : { systemCode }),
    }
  }
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
}

function serveConnection(
  socket: Socket,
  handlers: ControlHandlers,
  onAnswered: (method: string) => void,
): void {
  const closed = new AbortController()
  socket.on('close', () => closed.abort(new Error('the caller went away')))
  const send = (reply: ControlReply): void => {
    if (!closed.signal.aborted) socket.write(`${JSON.stringify(reply)}\n`)
  }
  const answer = async ({ id, method, params }: ControlRequest): Promise<void> => {
    try {
      if (!Object.hasOwn(handlers, method)) {
        throw new ClusterError('usage', `the supervisor knows no method "${method}"`, {
          hint: 'it was started by another version of skiff: run `skiff down`, then `skiff up`',
        })
      }
      const handler = handlers[method as keyof ControlHandlers] as (
        params: unknown,
        connection: unknown,
      ) => Promise<Record<string, unknown>>
      const emit = (event: ComponentStatus): void => send({ id, event })
      send({ id, result: await handler(params, { emit, signal: closed.signal }) })
    } catch (error) {
      send({ id, fault: faultOf(error) })
    }
    onAnswered(method)
  }
  void readLines(socket, (line) => {
    try {
      const { id, method, params } = JSON.parse(line) as ControlRequest
      void answer({ id, method, params })
    } catch {
      socket.destroy() // not our protocol: nothing to answer
    }
  })
}

/** Whether a process listens there. One that is stopped counts: the system accepts for it. */
function isListenedOn(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTo(socketPath)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('close', () => resolve(false)).once('connect', () => socket.destroy())
  })
}

function alreadyListens(socketPath: string, cause?: unknown): ClusterError {
  return new ClusterError('already-exists', `another supervisor listens on ${socketPath}`, {
    cause,
  })
}

function listen(server: Server, socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Listens where a server that died has left its socket; a socket that still has its server stays that server's. */
async function listenAlone(server: Server, socketPath: string): Promise<void> {
  try {
    await listen(server, socketPath)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    if (await isListenedOn(socketPath)) throw alreadyListens(socketPath, error)
    rmSync(socketPath, { force: true })
    await listen(server, socketPath)
  }
  chmodSync(socketPath, 0o600)
}

/** Listens on a new pipe, whose name the file holds from then on. The file goes with the server, as a socket does. */
async function listenOnPipe(server: Server, socketPath: string, prefix: string): Promise<void> {
  if (namedPipe(socketPath) !== undefined && (await isListenedOn(socketPath))) {
    throw alreadyListens(socketPath)
  }
  const pipe = newPipe(prefix)
  await listen(server, pipe)
  writePrivateFile(socketPath, pipe)
  server.once('close', () => rmSync(socketPath, { force: true }))
}

/**
 * Listens on `socketPath` until closed. Call it as holder of the cluster's lock: then a socket without a listener is a dead
 * supervisor's, and is replaced. Throws a ClusterError of kind `already-exists` when a process listens there.
 * `onAnswered` is called after the answer of each call was written. `close` ends open connections too; answers already written
 * are delivered.
 */
export async function serveControl(
  socketPath: string,
  handlers: ControlHandlers,
  options: {
    readonly onAnswered?: (method: string) => void
    /** Listens on a pipe with such a name in place of the socket. */
    readonly pipePrefix?: string
  } = {},
): Promise<{ close(): Promise<void> }> {
  const { onAnswered = () => {}, pipePrefix = '' } = options
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    serveConnection(socket, handlers, onAnswered)
  })
  if (pipePrefix === '') await listenAlone(server, socketPath)
  else await listenOnPipe(server, socketPath, pipePrefix)
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.end()
      }),
  }
}

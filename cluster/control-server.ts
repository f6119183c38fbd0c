/** Control server: the supervisor's end of the socket. Only the cluster's owner can connect: the folder is 0700, the socket 0600. */
import { chmodSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { ClusterError } from './cluster-error.ts'
import { readLines } from './lines.ts'
import type {
  ComponentStatus,
  ControlFault,
  ControlHandlers,
  ControlReply,
  ControlRequest,
} from './control-protocol.ts'

function faultOf(error: unknown): ControlFault {
  if (error instanceof ClusterError) {
    const { kind, message, hint, details } = error
    return { kind, message, details, ...(hint === undefined ? {} : { hint }) }
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

/**
 * Listens on `socketPath` (a stale socket there is replaced: the caller holds the cluster's lock) until closed.
 * `onAnswered` is told after the answer of each call was written. `close` ends open connections too; answers already written are delivered.
 */
export async function serveControl(
  socketPath: string,
  handlers: ControlHandlers,
  onAnswered: (method: string) => void = () => {},
): Promise<{ close(): Promise<void> }> {
  rmSync(socketPath, { force: true })
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    serveConnection(socket, handlers, onAnswered)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, resolve)
  })
  chmodSync(socketPath, 0o600)
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.end()
      }),
  }
}

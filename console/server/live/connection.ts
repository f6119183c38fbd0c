/** A page's WebSocket: its subscriptions, and what it is sent. */
import type { RawData, WebSocket } from 'ws'
import type { TableColumn, ToConsole, ToPage } from '../../protocol/live.ts'
import { messageHead, type MessageTail } from './message-tail.ts'
import { parseMessage } from './parse-message.ts'
import type { TableFollower } from './table.ts'

/** A page that is behind by more gets a new snapshot later instead of every change. */
const mostWaitingBytes = 2 * 1024 * 1024
/** More subscriptions than any view has. */
const mostSubscriptions = 32

/** Begins a subscription; returns how it ends. */
export type Subscribe = (
  wanted: Exclude<ToConsole, { readonly unsubscribe: number }>,
  follower: TableFollower & { columns(columns: readonly TableColumn[]): void },
) => () => void

export interface LiveConnection {
  send(message: ToPage): void
}

/** Serves the socket until it closes. A message that is not one of the protocol ends the connection. */
export function serveConnection(socket: WebSocket, subscribe: Subscribe): LiveConnection {
  const subscriptions = new Map<number, () => void>()
  const send = (message: ToPage): void => {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message))
  }
  /** As one message of two frames, so that the bytes that pages share are not copied. */
  const sendTail = (head: string, tail: MessageTail, sent?: () => void): void => {
    if (socket.readyState !== socket.OPEN) return
    socket.send(head, { fin: false })
    socket.send(tail, { binary: false, fin: true }, sent)
  }
  const begin = (wanted: Exclude<ToConsole, { readonly unsubscribe: number }>): void => {
    const id = wanted.subscribe
    if (subscriptions.has(id) || subscriptions.size >= mostSubscriptions) {
      socket.close(1008, 'too many subscriptions, or one number twice')
      return
    }
    let columns: readonly TableColumn[] | undefined
    const leave = subscribe(wanted, {
      snapshot: (part, sent) => sendTail(messageHead(id, columns), part, sent),
      changed: (change) => sendTail(messageHead(id), change),
      ended: (end) => {
        subscriptions.delete(id)
        send({ id, end })
      },
      columns: (named) => (columns = named),
      get isReady() {
        return socket.bufferedAmount < mostWaitingBytes
      },
    })
    subscriptions.set(id, leave)
  }
  socket.on('message', (data: RawData) => {
    const message = parseMessage(data)
    if (message === undefined) {
      socket.close(1008, 'not a message of the console')
      return
    }
    if ('subscribe' in message) {
      begin(message)
      return
    }
    subscriptions.get(message.unsubscribe)?.()
    subscriptions.delete(message.unsubscribe)
  })
  socket.on('close', () => {
    for (const leave of subscriptions.values()) leave()
    subscriptions.clear()
  })
  socket.on('error', () => socket.terminate())
  return { send }
}

/** live: the page's one WebSocket. Subscriptions outlive it: after a lost connection each begins again with a new snapshot. */
import { signal, type ReadonlySignal } from '@preact/signals'
import { noteClusterTime } from './cluster-time.ts'
import type { LessonStepRow, LessonStepSubscription } from '../../protocol/lessons.ts'
import type {
  ChannelName,
  Channels,
  ClusterInfo,
  TableColumn,
  TableRow,
  TableSubscription,
  ToConsole,
  ToPage,
} from '../../protocol/live.ts'

const firstRetryMs = 250
const longestRetryMs = 5000

/** Whom the page talks to now. */
export interface ConnectionState {
  /** With the console. */
  readonly isOpen: boolean
  /** Of the console with the API server. */
  readonly isClusterReachable: boolean
  readonly why: string
}

const connectionSignal = signal<ConnectionState>({
  isOpen: false,
  isClusterReachable: true,
  why: '',
})
const infoSignal = signal<ClusterInfo | undefined>(undefined)

export const connection: ReadonlySignal<ConnectionState> = connectionSignal
export const info: ReadonlySignal<ClusterInfo | undefined> = infoSignal

/** Rows of a subscription. The map is changed in place; `version` grows with every change. */
export interface LiveRows<Row> {
  readonly rows: ReadonlyMap<string, Row>
  readonly columns: readonly TableColumn[]
  /** Keys that changed with this version; undefined after a snapshot. */
  readonly changed: ReadonlySet<string> | undefined
  readonly version: number
  /** False until the whole first snapshot has come. */
  readonly isWhole: boolean
  /** The subscription has ended, and why. */
  readonly end: { readonly code: number; readonly message: string } | undefined
}

interface Subscription {
  readonly message: (id: number) => ToConsole
  receive(message: Extract<ToPage, { readonly id: number }>): void
}

const subscriptions = new Map<number, Subscription>()
let socket: WebSocket | undefined
let retryMs = firstRetryMs
let lastId = 0

function send(message: ToConsole): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
}

function receive(message: ToPage): void {
  if ('info' in message) infoSignal.value = message.info
  else if ('time' in message) noteClusterTime(message.time.nowMs)
  else if ('connected' in message) {
    const { connected, why = '' } = message
    connectionSignal.value = { isOpen: true, isClusterReachable: connected, why }
  } else subscriptions.get(message.id)?.receive(message)
}

/** Opens the connection, and opens it again whenever it is lost. Call it once. */
export function connect(): void {
  const opened = new WebSocket(`ws://${location.host}/live`)
  socket = opened
  opened.onopen = () => {
    retryMs = firstRetryMs
    connectionSignal.value = { ...connectionSignal.value, isOpen: true, why: '' }
    for (const [id, { message }] of subscriptions) send(message(id))
  }
  opened.onmessage = ({ data }) => receive(JSON.parse(String(data)) as ToPage)
  opened.onclose = () => {
    const why = 'No connection to the console: it has ended, or this browser has no session.'
    connectionSignal.value = { isOpen: false, isClusterReachable: false, why }
    setTimeout(connect, retryMs)
    retryMs = Math.min(retryMs * 2, longestRetryMs)
  }
}

function follow<Row>(
  message: (id: number) => ToConsole,
  keyOf: (row: Row) => string,
): { readonly live: ReadonlySignal<LiveRows<Row>>; readonly leave: () => void } {
  const id = ++lastId
  const rows = new Map<string, Row>()
  const live = signal<LiveRows<Row>>({
    rows,
    columns: [],
    changed: undefined,
    version: 0,
    isWhole: false,
    end: undefined,
  })
  const snapshot = (part: Extract<ToPage, { readonly snapshot: unknown }>): void => {
    if (part.first === true) rows.clear()
    for (const row of part.snapshot as readonly Row[]) rows.set(keyOf(row), row)
    const { columns, version } = live.value
    live.value = {
      ...live.value,
      columns: (part.columns as readonly TableColumn[] | undefined) ?? columns,
      changed: undefined,
      version: version + 1,
      isWhole: part.more !== true,
      end: undefined,
    }
  }
  const change = ({ set, gone }: Extract<ToPage, { readonly set: unknown }>): void => {
    const changed = new Set(gone)
    for (const key of gone) rows.delete(key)
    for (const row of set as readonly Row[]) {
      const key = keyOf(row)
      rows.set(key, row)
      changed.add(key)
    }
    live.value = { ...live.value, changed, version: live.value.version + 1 }
  }
  subscriptions.set(id, {
    message,
    receive: (received) => {
      if ('snapshot' in received) snapshot(received)
      else if ('set' in received) change(received)
      else live.value = { ...live.value, end: received.end, isWhole: true }
    },
  })
  send(message(id))
  return {
    live,
    leave: () => {
      subscriptions.delete(id)
      send({ unsubscribe: id })
    },
  }
}

const channelKeys: { readonly [Name in ChannelName]: (row: Channels[Name]) => string } = {
  nodes: ({ name }) => name,
  pods: ({ key }) => key,
  events: ({ key }) => key,
  requests: ({ seq }) => String(seq),
  journals: ({ server }) => server,
  watches: ({ id }) => id,
  components: ({ name }) => name,
  time: ({ key }) => key,
  faults: ({ key }) => key,
  monitors: ({ key }) => key,
}

/** Subscribes until `leave` is called. */
export function followChannel<Name extends ChannelName>(channel: Name) {
  return follow<Channels[Name]>((subscribe) => ({ subscribe, channel }), channelKeys[channel])
}

/** Subscribes until `leave` is called. */
export function followTable(table: TableSubscription) {
  return follow<TableRow>(
    (subscribe) => ({ subscribe, table }),
    ({ key }) => key,
  )
}

/** Subscribes until `leave` is called. */
export function followLesson(lesson: LessonStepSubscription) {
  return follow<LessonStepRow>(
    (subscribe) => ({ subscribe, lesson }),
    ({ step }) => String(step),
  )
}

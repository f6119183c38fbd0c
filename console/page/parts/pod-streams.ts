/** pod-streams: the log of a container, and a command in one with its input and output (KEP-4006). Bytes are decoded; nothing is drawn. */
import { send } from '../app/api.ts'

export interface ContainerPlace {
  readonly namespace: string
  readonly pod: string
  readonly container: string
}

const podPath = ({ namespace, pod }: ContainerPlace): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`

export interface LogOptions {
  readonly follow: boolean
  /** Of the container before its last restart. */
  readonly previous: boolean
  readonly tailLines: number
  readonly signal: AbortSignal
  readonly onText: (text: string) => void
}

/** Resolves when the log has ended. Throws ApiErrors. */
export async function readLog(of: ContainerPlace, options: LogOptions): Promise<void> {
  const { follow, previous, tailLines, signal, onText } = options
  const query = { container: of.container, follow, previous, tailLines }
  const answer = await send(`${podPath(of)}/log`, { query, signal, accept: '*/*' })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) return
    onText(value)
  }
}

export interface CommandStream {
  /** Sends text to the command's input. */
  write(text: string): void
  close(): void
}

export interface CommandOptions {
  readonly command: readonly string[]
  readonly onOpen: () => void
  readonly onText: (text: string) => void
  /** Once, with why it ended; empty after a success. */
  readonly onEnd: (why: string) => void
}

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3 } as const
const protocol = 'v5.channel.k8s.io'

interface EndStatus {
  readonly status?: string
  readonly message?: string
}

/** Starts the command with a terminal, which merges its two outputs. */
export function openCommand(of: ContainerPlace, options: CommandOptions): CommandStream {
  const { command, onOpen, onText, onEnd } = options
  const query = new URLSearchParams({ container: of.container, stdin: 'true', stdout: 'true' })
  query.set('tty', 'true')
  for (const word of command) query.append('command', word)
  const url = `ws://${location.host}/cluster${podPath(of)}/exec?${query.toString()}`
  const socket = new WebSocket(url, protocol)
  socket.binaryType = 'arraybuffer'
  const decoder = new TextDecoder()
  let why = 'the connection was lost'
  socket.onopen = onOpen
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
    const [channel] = new Uint8Array(data, 0, Math.min(1, data.byteLength))
    const bytes = new Uint8Array(data, Math.min(1, data.byteLength))
    if (channel === channels.stdout || channel === channels.stderr)
      onText(decoder.decode(bytes, { stream: true }))
    else if (channel === channels.error) {
      const { status, message } = JSON.parse(new TextDecoder().decode(bytes)) as EndStatus
      why = status === 'Success' ? '' : (message ?? 'the command failed')
    }
  }
  socket.onclose = () => onEnd(why)
  return {
    write: (text) => {
      const bytes = new TextEncoder().encode(text)
      const message = new Uint8Array(bytes.length + 1)
      message[0] = channels.stdin
      message.set(bytes, 1)
      if (socket.readyState === WebSocket.OPEN) socket.send(message)
    },
    close: () => {
      socket.onclose = null
      socket.close()
    },
  }
}

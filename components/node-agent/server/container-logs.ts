/** Container logs: GET /containerLogs/<namespace>/<pod>/<container> as the kubelet serves it, followed if asked for. */
import type { Clock } from '../../component-base/clock.ts'
import type { Answer, ResponseSink } from '../../component-base/http.ts'
import type { ContainerRuntime, LogLine } from '../runtime/container-runtime.ts'

interface LogOptions {
  readonly isFollowing: boolean
  readonly isTimed: boolean
  readonly tailLines: number | undefined
  /** Lines from before are left out. */
  readonly sinceMs: number | undefined
  readonly limitBytes: number | undefined
}

/** A whole number of the query; NaN for any other text. */
function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  return /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}

const flagOf = (query: URLSearchParams, name: string): boolean =>
  ['true', '1', 't', 'T', 'TRUE', 'True'].includes(query.get(name) ?? '')

/** Undefined for options that make no sense. */
function optionsOf(query: URLSearchParams, nowMs: number): LogOptions | undefined {
  const tailLines = numberOf(query, 'tailLines')
  const sinceSeconds = numberOf(query, 'sinceSeconds')
  const limitBytes = numberOf(query, 'limitBytes')
  const sinceTime = query.get('sinceTime')
  const sinceMs = sinceTime
    ? Date.parse(sinceTime)
    : sinceSeconds === undefined
      ? undefined
      : nowMs - sinceSeconds * 1000
  const isWrong =
    (tailLines !== undefined && !(tailLines >= 0)) ||
    (sinceSeconds !== undefined && !(sinceSeconds > 0)) ||
    (limitBytes !== undefined && !(limitBytes > 0)) ||
    Number.isNaN(sinceMs) ||
    (sinceTime && sinceSeconds !== undefined)
  if (isWrong) return undefined
  return {
    isFollowing: flagOf(query, 'follow'),
    isTimed: flagOf(query, 'timestamps'),
    tailLines,
    sinceMs,
    limitBytes,
  }
}

/** Lines as bytes, as far as the limit allows. */
function createWriter(options: LogOptions): {
  write(lines: readonly LogLine[]): Buffer
  isFull(): boolean
} {
  const { isTimed, sinceMs = 0 } = options
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY
  const shown = ({ timeMs, text, isPartial }: LogLine): string =>
    `${isTimed ? `${new Date(timeMs).toISOString()} ` : ''}${text}${isPartial ? '' : '\n'}`
  return {
    write: (lines) => {
      const text = lines.filter(({ timeMs }) => timeMs >= sinceMs).map(shown)
      const bytes = Buffer.from(text.join('')).subarray(0, left)
      left -= bytes.length
      return bytes
    },
    isFull: () => left <= 0,
  }
}

const headers = { 'content-type': 'text/plain; charset=utf-8' }

function refuse(status: number, text: string): Answer {
  return { status, headers, body: Buffer.from(text) }
}

/** Upstream: kubelet_pods.go, validateContainerLogStatus. */
function waitingText(reason: string | undefined): string {
  if (reason === 'ErrImagePull') return "image can't be pulled"
  if (reason === 'ImagePullBackOff') return 'trying and failing to pull image'
  return reason ?? 'ContainerCreating'
}

/** The answer to a request for the log of a container that is on this node. */
export function answerContainerLogs(
  request: {
    readonly pod: string
    readonly container: string
    /** Undefined before it has ever started. */
    readonly id: string | undefined
    readonly waitingReason: () => string | undefined
    readonly query: URLSearchParams
  },
  { runtime, clock }: { runtime: ContainerRuntime; clock: Clock },
): Answer {
  const { pod, container, query } = request
  const options = optionsOf(query, clock.now())
  if (options === undefined) return refuse(422, '{"message": "Invalid request."}')
  const isPrevious = flagOf(query, 'previous')
  const id = isPrevious && request.id !== undefined ? runtime.previous(request.id) : request.id
  if (id === undefined) {
    return refuse(
      400,
      isPrevious
        ? `previous terminated container "${container}" in pod "${pod}" not found`
        : `container "${container}" in pod "${pod}" is waiting to start: ${waitingText(request.waitingReason())}`,
    )
  }
  const writer = createWriter(options)
  const begin = (): Buffer => {
    const written = runtime.logs(id)
    const { tailLines = written.length } = options
    return writer.write(tailLines === 0 ? [] : written.slice(-tailLines))
  }
  if (!options.isFollowing) return { status: 200, headers, body: begin() }
  const follow = async (sink: ResponseSink): Promise<void> => {
    // Both at the same moment: no line comes twice or is missed.
    const more = runtime.followLogs(id, sink.signal)
    sink.write(begin())
    if (writer.isFull()) return
    for await (const lines of more) {
      if (!sink.write(writer.write(lines))) await sink.drained()
      if (writer.isFull()) return
    }
  }
  return { status: 200, headers, body: follow }
}

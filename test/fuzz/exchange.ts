/** Sends one request of the fuzzer and judges the answer. */
import http2, { type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2'
import type { OddRequest } from './odd-requests.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** A stream that is open this long after its head came is a watch: it is ended, and that was all there is to see. */
const watchMs = 30
/** A request without an answer by then hangs; how busy the machine is makes no difference. */
const longestMs = 120_000
/** What a refusal may weigh: it names the fault, it does not send the request back. */
const largestRefusal = 512 * 1024

export async function exchange(session: ClientHttp2Session, request: OddRequest): Promise<Answer> {
  const { method, path, headers, body } = request
  const stream = session.request(
    { ':method': method, ':path': path, ...headers },
    { endStream: body === undefined },
  )
  if (body !== undefined) stream.end(body)
  return await new Promise((resolve, reject) => {
    let head: IncomingHttpHeaders = {}
    const chunks: Buffer[] = []
    let watching: NodeJS.Timeout | undefined
    const late = setTimeout(() => {
      stream.close(http2.constants.NGHTTP2_CANCEL)
      reject(new Error(`no answer after ${longestMs} ms`))
    }, longestMs)
    stream.on('response', (received) => {
      head = received
      if (/[?&]watch=/.test(path)) {
        watching = setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), watchMs)
      }
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', reject)
    stream.on('close', () => {
      clearTimeout(late)
      clearTimeout(watching)
      const text = Buffer.concat(chunks).toString()
      resolve({ status: Number(head[':status'] ?? 0), headers: head, text })
    })
  })
}

/** What is wrong with an answer; undefined when nothing is. */
export function faultOf(request: OddRequest, answer: Answer): string | undefined {
  const { status, text, headers } = answer
  if (status === 0) return 'the stream ended without an answer'
  if (status < 400) return undefined
  if (status >= 500 && !isDocumented(answer)) return 'an error of the server'
  // What a GET would say, without saying it.
  if (request.method === 'HEAD') return undefined
  if (text.length > largestRefusal) return `a refusal of ${text.length} characters`
  const type = String(headers['content-type'] ?? '')
  if (!type.startsWith('application/json')) {
    if (status === 404 && text === '404 page not found\n') return undefined
    return type === '' || text === '' ? 'a refusal without a body' : undefined
  }
  if (status === 500 && isDocumented(answer)) return undefined
  return isStatus(text, status) ? undefined : 'a refusal that is no Status or names no fault'
}

function isDocumented({ status, text }: Answer): boolean {
  if (status === 500) return upstreamsOwn.test(text)
  return status === 501 || (status === 504 && text.includes('Too large resource version'))
}

/** A Binding with faults and a version that is no number are answered with a bare 500 upstream, and so here; in any encoding. */
const upstreamsOwn =
  /\[?target\.(name|kind): (Required|Unsupported|Invalid)|strconv\.ParseUint: parsing/

function isStatus(text: string, status: number): boolean {
  try {
    const body = JSON.parse(text) as Record<string, unknown>
    return (
      body['kind'] === 'Status' &&
      body['status'] === 'Failure' &&
      body['code'] === status &&
      typeof body['message'] === 'string' &&
      /\S/.test(body['message']) &&
      /^[A-Z]\w+$/.test(String(body['reason']))
    )
  } catch {
    // Said by the caller.
    return false
  }
}

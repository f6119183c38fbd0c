/** The yardstick: a bare HTTP/2 server that moves the same bytes as the API server, with no semantics at all. */
import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import { writeSync } from 'node:fs'
import { readFileSync } from 'node:fs'
import { systemClock } from '../../components/component-base/clock.ts'
import { GrpcClient } from '../../components/component-base/grpc/grpc-client.ts'
import { etcdMethod, readTxn, writeTxn } from '../../components/store/etcd/etcd-messages.ts'

const [certFile = '', keyFile = '', bodyFile = '', etcdUrl] = process.argv.slice(2)
const etcd = etcdUrl === undefined ? undefined : connectEtcd(new URL(etcdUrl))
let committed = 0
const item = readFileSync(bodyFile)
const itemAndComma = Buffer.concat([item, Buffer.from(',')])
const frame = Buffer.concat([Buffer.from('{"type":"ADDED","object":'), item, Buffer.from('}\n')])
const watchers = new Set<ServerHttp2Stream>()
const head = { ':status': 200, 'content-type': 'application/json' }
/** As large as the API server's: whole items, about 256 KB. */
const itemsPerChunk = Math.max(1, Math.round((256 * 1024) / itemAndComma.length))
const chunk = Buffer.concat(Array.from({ length: itemsPerChunk }, () => itemAndComma))

async function sendItems(stream: ServerHttp2Stream, count: number): Promise<void> {
  stream.respond(head)
  for (let left = count; left > 0; left -= itemsPerChunk) {
    const part = left >= itemsPerChunk ? chunk : chunk.subarray(0, left * itemAndComma.length)
    if (!stream.write(part)) {
      await new Promise<void>((resolve) => stream.once('drain', () => resolve()))
    }
  }
  stream.end()
}

/** Sends the body to all watchers as it is. */
function sendFrame(stream: ServerHttp2Stream): void {
  const chunks: Buffer[] = []
  stream.on('data', (part: Buffer) => chunks.push(part))
  stream.on('end', () => {
    const sent = Buffer.concat(chunks)
    for (const watcher of watchers) watcher.write(sent)
    stream.respond(head)
    stream.end()
  })
}

function connectEtcd({ hostname: host, port }: URL): GrpcClient {
  return new GrpcClient({ address: { host, port: Number(port) }, clock: systemClock })
}

/** A new key in etcd, as a create of the API server makes one. */
async function commit(to: GrpcClient, value: Buffer): Promise<void> {
  const key = Buffer.from(`/bare/${process.pid}/${(committed += 1)}`)
  const message = writeTxn({
    compares: [{ key, modRevision: 0 }],
    success: [{ type: 'put', key, value }],
    failure: [{ type: 'get', key }],
  })
  readTxn(await to.unary(etcdMethod.txn, message))
}

/** Parses, stringifies and answers: a write that keeps nothing, unless there is an etcd. */
function answerWrite(stream: ServerHttp2Stream, status: number): void {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('end', () => {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString())
    const body = Buffer.from(JSON.stringify(value))
    const answer = (): void => {
      stream.respond({ ...head, ':status': status, 'content-length': body.length })
      stream.end(body)
    }
    if (etcd === undefined) answer()
    else void commit(etcd, body).then(answer)
  })
}

const server = createSecureServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) })
server.on('session', (session) => session.setLocalWindowSize(16 * 1024 * 1024))
server.on('stream', (stream, headers) => {
  stream.on('error', () => watchers.delete(stream))
  const path = headers[':path'] ?? ''
  if (path === '/frame') sendFrame(stream)
  else if (headers[':method'] === 'POST') answerWrite(stream, 201)
  else if (headers[':method'] === 'PATCH') answerWrite(stream, 200)
  else if (path.startsWith('/items/')) void sendItems(stream, Number(path.slice(7)))
  else if (path === '/watch') {
    stream.respond(head)
    watchers.add(stream)
    stream.on('close', () => watchers.delete(stream))
  } else if (path === '/send') {
    for (const watcher of watchers) watcher.write(frame)
    stream.respond(head)
    stream.end()
  } else {
    stream.respond({ ...head, 'content-length': item.length })
    stream.end(item)
  }
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  writeSync(3, `${JSON.stringify({ ready: true, port })}\n`)
})
process.on('SIGTERM', () => process.exit(0))

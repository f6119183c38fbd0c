/** The yardstick: a bare HTTP/2 server that moves the same bytes as the API server, with no semantics at all. */
import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import { writeSync } from 'node:fs'
import { readFileSync } from 'node:fs'

const [certFile = '', keyFile = '', bodyFile = '', listCount = '0'] = process.argv.slice(2)
const item = readFileSync(bodyFile)
const list = Buffer.concat(
  Array.from({ length: Number(listCount) }, () => Buffer.concat([item, Buffer.from(',')])),
)
const frame = Buffer.concat([Buffer.from('{"type":"ADDED","object":'), item, Buffer.from('}\n')])
const watchers = new Set<ServerHttp2Stream>()
const head = { ':status': 200, 'content-type': 'application/json' }
const chunkBytes = 256 * 1024

async function sendList(stream: ServerHttp2Stream): Promise<void> {
  stream.respond(head)
  for (let at = 0; at < list.length; at += chunkBytes) {
    if (!stream.write(list.subarray(at, at + chunkBytes))) {
      await new Promise<void>((resolve) => stream.once('drain', () => resolve()))
    }
  }
  stream.end()
}

function answerPost(stream: ServerHttp2Stream): void {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('end', () => {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString())
    const body = Buffer.from(JSON.stringify(value))
    stream.respond({ ...head, ':status': 201, 'content-length': body.length })
    stream.end(body)
  })
}

const server = createSecureServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) })
server.on('session', (session) => session.setLocalWindowSize(16 * 1024 * 1024))
server.on('stream', (stream, headers) => {
  stream.on('error', () => watchers.delete(stream))
  const path = headers[':path'] ?? ''
  if (headers[':method'] === 'POST') answerPost(stream)
  else if (path === '/list') void sendList(stream)
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

/** Lists to clients that read slowly: chunks are used again while the list is sent, and nothing of it may change underway. */
import { writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { request } from 'node:https'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('slow-readers')
const tokens = join(folder, 'tokens.csv')
writeFileSync(tokens, 'slow-token,reader,1,"system:masters"\n')
const server = await startApiServer({ store: 'sqlite', flags: [`--token-auth-file=${tokens}`] })
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const path = '/api/v1/namespaces/default/configmaps'
const count = 100
const headers = { authorization: 'Bearer slow-token' }
const textOf = (at: number): string => `${at} `.repeat(6000)

async function readSlowly(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer)
    if (chunks.length % 20 === 0) await delay(2)
  }
  return Buffer.concat(chunks).toString()
}

const ca = server.pki.authority.certificatePem
const origin = (): string => `https://127.0.0.1:${server.port}`

async function overHttp2(): Promise<string> {
  // Small windows: the server waits for the client over and over.
  const session = connect(origin(), { ca, settings: { initialWindowSize: 20_000 } })
  try {
    return await readSlowly(session.request({ ':path': path, ...headers }))
  } finally {
    session.destroy()
  }
}

async function overHttp1(): Promise<string> {
  return await new Promise((resolve, reject) => {
    const sent = request(`${origin()}${path}`, { ca, headers, agent: false }, (message) => {
      readSlowly(message).then(resolve, reject)
    })
    sent.on('error', reject)
    sent.end()
  })
}

async function checkLists(): Promise<void> {
  const lists = await Promise.all([overHttp2(), overHttp2(), overHttp1(), overHttp1()])
  for (const list of lists) {
    const { items } = JSON.parse(list) as {
      items: { metadata: { name: string; resourceVersion: string }; data: { text: string } }[]
    }
    const ours = items.filter(({ metadata }) => metadata.name.startsWith('map-'))
    // Not compared as a whole: the difference would be megabytes.
    expect(ours.length).toBe(count)
    expect(ours.findIndex(({ data }, at) => data.text !== textOf(at))).toBe(-1)
    for (const { metadata } of ours) expect(metadata.resourceVersion).toMatch(/^[1-9]\d*$/)
    expect(list === lists[0]).toBe(true)
  }
}

describe('a slow reader of a long list', () => {
  it('gets the same bytes as any other, over HTTP/2 and HTTP/1.1', async () => {
    for (let at = 0; at < count; at += 1) {
      const name = `map-${String(at).padStart(3, '0')}`
      await server.ok('POST', path, { body: { metadata: { name }, data: { text: textOf(at) } } })
    }
    await checkLists()
  })

  it('gets them also when the server has only just read them from its store', async () => {
    await server.restart()
    await checkLists()
  })
})

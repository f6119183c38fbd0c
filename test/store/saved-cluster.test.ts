/** Saved clusters: what is written is read back, and whatever is not whole is refused with the reason. */
import { readFileSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openSavedFile, writeSavedFile } from '../../components/store/saved-cluster-file.ts'
import {
  readSaved,
  savedLines,
  savingFault,
  type SavedHeader,
  type SavedLimits,
} from '../../components/store/saved-cluster.ts'
import type { KeyValue } from '../../components/store/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectMode } from '../support/file-mode.ts'

const path = join(temporaryFolder('saved-cluster'), 'saved')

const header: SavedHeader = {
  writtenBy: 'skiff 0.1.0',
  dialect: 'kubernetes',
  revision: 90,
  savedAt: '2026-01-01T00:00:00Z',
  serviceRange: '10.96.0.0/16',
  nodes: [{ name: 'node-1' }, { name: 'simulated', simulated: 50 }],
  flags: { scheduler: { v: '4' } },
}

const kvs: KeyValue[] = [
  ['/registry/secrets/default/a', '{"data":"\u{1F600} \\n"}\n'],
  ['/registry/secrets/default/b', ''],
  ['/registry/deployments/default/c', JSON.stringify({ spec: 'x'.repeat(300) })],
].map(([key = '', text = ''], i) => ({
  key,
  value: Buffer.from(text),
  createRevision: i + 1,
  modRevision: 10 * (i + 1),
}))

async function read(limits?: SavedLimits): Promise<{ header: SavedHeader; kvs: KeyValue[] }> {
  await using saved = await openSavedFile(path, limits)
  return { header: saved.header, kvs: await Array.fromAsync(saved.kvs) }
}

/** The text of a whole file, which a test then changes. */
async function text(): Promise<string[]> {
  const pieces = await Array.fromAsync(savedLines(header, kvs))
  return Buffer.concat(pieces).toString().split('\n').slice(0, -1)
}

function write(lines: readonly string[]): void {
  writeFileSync(path, gzipSync(`${lines.join('\n')}\n`))
}

const key = fc.string({ unit: 'binary' }).filter((one) => one.isWellFormed())
const value = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: 'binary', maxLength: 300 }).map((one) => Buffer.from(one)),
)

describe('a saved cluster', () => {
  it('is read as it was written, whatever the keys and bytes are', async () => {
    const anyKey = fc.record({
      key,
      value,
      createRevision: fc.nat({ max: header.revision }),
      modRevision: fc.nat({ max: header.revision }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(anyKey, { maxLength: 20 }), async (any) => {
        await writeSavedFile(path, header, any)
        expect(await read()).toEqual({ header, kvs: any })
      }),
      { numRuns: 60 },
    )
  })

  it('is a file for its owner alone, the same for the same cluster, and leaves nothing beside it', async () => {
    const { bytes } = await writeSavedFile(path, header, kvs)
    const first = readFileSync(path)
    expect(first.length).toBe(bytes)
    expectMode(path, 0o600)
    await writeSavedFile(path, header, kvs)
    expect(readFileSync(path).equals(first)).toBe(true)
    expect(await readdir(dirname(path))).toEqual(['saved'])
  })

  it('replaces an earlier file only when it is whole', async () => {
    await writeSavedFile(path, header, kvs)
    const broken = async function* () {
      yield* kvs
      throw new Error('the server has gone')
    }
    await expect(writeSavedFile(path, header, broken())).rejects.toThrow('the server has gone')
    expect(await read()).toEqual({ header, kvs })
    expect(await readdir(dirname(path))).toEqual(['saved'])
  })

  it('is refused when it is cut short anywhere', async () => {
    await writeSavedFile(path, header, kvs)
    const whole = readFileSync(path)
    for (let length = 0; length < whole.length; length += 1) {
      writeFileSync(path, whole.subarray(0, length))
      await expect(read(), `the first ${length} bytes`).rejects.toThrow(
        /^is (cut short|not a saved cluster)$/,
      )
    }
  })

  it('is refused when a bit is changed, unless that bit says nothing', async () => {
    await writeSavedFile(path, header, kvs)
    const whole = readFileSync(path)
    let refused = 0
    for (let bit = 0; bit < 8 * whole.length; bit += 1) {
      const changed = Buffer.from(whole)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      writeFileSync(path, changed)
      const outcome = await read().catch((error: Error) => error)
      if (outcome instanceof Error) {
        expect(outcome.name, `bit ${bit}: ${outcome.message}`).toBe('SavedClusterError')
        refused += 1
      } else expect(outcome, `bit ${bit}`).toEqual({ header, kvs })
    }
    // gzip's own header has a time, and a last byte may have bits to spare.
    expect(8 * whole.length - refused).toBeLessThan(80)
  })

  it('is refused when any byte of its text is changed, though the compression is whole', async () => {
    const bytes = Buffer.from(`${(await text()).join('\n')}\n`)
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 2
      writeFileSync(path, gzipSync(changed))
      await expect(read(), `byte ${at}`).rejects.toThrow(/^(is|was) /)
    }
  })

  it.each<[string, (lines: string[]) => string[], RegExp]>([
    ['a line is missing', (lines) => lines.toSpliced(2, 1), /checksum/],
    ['a line is there twice', (lines) => lines.toSpliced(2, 0, lines[2]!), /checksum/],
    ['its end is missing', (lines) => lines.slice(0, -1), /^is cut short$/],
    ['something follows its end', (lines) => [...lines, '{}'], /something follows its end/],
    ['a key is no key', (lines) => lines.with(2, '{"key":3}'), /line 3 is no key/],
    [
      'a key is later than its revision',
      (lines) => lines.with(1, '{"key":"a","create":1,"mod":91,"value":""}'),
      /line 2 is no key/,
    ],
    [
      'its first line is no header',
      (lines) => lines.with(0, '{"format":"skiff-cluster","version":1}'),
      /first line is no header/,
    ],
    [
      'it is of a newer release',
      (lines) => lines.with(0, lines[0]!.replace('"version":2', '"version":3')),
      /^was saved by a newer release \(skiff 0\.1\.0\): its format is 3, this release knows 2$/,
    ],
    ['it is another text', () => ['hello'], /^is not a saved cluster$/],
    ['it is empty', () => [], /^is not a saved cluster$/],
  ])('is refused when %s', async (_, change, message) => {
    write(change(await text()))
    await expect(read()).rejects.toThrow(message)
  })

  it.each([
    ['a text', Buffer.from('apiVersion: v1\n')],
    ['an empty file', Buffer.alloc(0)],
  ])('is not %s', async (_, bytes) => {
    writeFileSync(path, bytes)
    await expect(read()).rejects.toThrow(/^is not a saved cluster$/)
  })

  it('is not a folder', async () => {
    await expect(openSavedFile(dirname(path))).rejects.toThrow('is not a saved cluster')
  })

  it('is refused with bytes after its end', async () => {
    await writeSavedFile(path, header, kvs)
    const whole = readFileSync(path)
    for (const more of [Buffer.from('x'), Buffer.alloc(20), whole]) {
      writeFileSync(path, Buffer.concat([whole, more]))
      await expect(read()).rejects.toThrow(/^is (damaged: |cut short$)/)
    }
  })

  it('is read no further than a cluster can be large', async () => {
    const small: SavedLimits = { lineBytes: 2000, totalBytes: 20_000 }
    write([...(await text()).slice(0, 1), 'x'.repeat(3000)])
    await expect(read(small)).rejects.toThrow(/larger than .* a line of more than 2000 bytes/)
    const [first = '', second = ''] = await text()
    write([first, ...Array.from({ length: 500 }, () => second)])
    await expect(read(small)).rejects.toThrow(/larger than .* more than 20000 bytes/)
  })

  it('is refused when a few bytes make as many as no cluster compresses to', async () => {
    writeFileSync(path, gzipSync(Buffer.alloc(80 * 1024 ** 2, '{"a":1}\n'), { level: 9 }))
    await expect(read()).rejects.toThrow(/^is not a saved cluster$/)
    const [first = ''] = await text()
    const line = JSON.stringify({ key: 'a', create: 1, mod: 1, value: ' '.repeat(1024 ** 2) })
    write([first, ...Array.from({ length: 80 }, () => line)])
    await expect(read()).rejects.toThrow(/larger than a saved cluster can be: \d+ bytes make/)
  })

  it('passes on why its writer could not go on', async () => {
    const pieces = async function* () {
      yield Buffer.from(`${(await text()).slice(0, 2).join('\n')}\n`)
      yield savingFault('cannot decrypt x')
    }
    const saved = await readSaved(pieces())
    await expect(Array.fromAsync(saved.kvs)).rejects.toThrow('cannot decrypt x')
  })

  it('shows its lines to anybody with gunzip', async () => {
    await writeSavedFile(path, header, kvs)
    const lines = gunzipSync(readFileSync(path)).toString().trimEnd().split('\n')
    expect(JSON.parse(lines[0]!)).toEqual({ format: 'skiff-cluster', version: 2, ...header })
    expect(JSON.parse(lines[1]!)).toEqual({
      key: '/registry/secrets/default/a',
      create: 1,
      mod: 10,
      value: kvs[0]!.value.toString(),
    })
    expect(JSON.parse(lines.at(-1)!)).toEqual({
      keys: 3,
      sha256: expect.stringMatching(/^\w{64}$/),
    })
  })
})

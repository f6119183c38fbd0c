/** Frames that end or mark a watch, in each form; what encodings cost in memory; any Accept header at all. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { printerOf } from '../../../components/api/printers.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { schemaOf } from '../../../components/api/schemas.ts'
import { cbor } from '../../../components/api-server/encoding/cbor-form.ts'
import { Encodings } from '../../../components/api-server/encoding/encodings.ts'
import { jsonForm } from '../../../components/api-server/encoding/json-form.ts'
import { protobufForm } from '../../../components/api-server/encoding/protobuf-form.ts'
import { objectView, tableView } from '../../../components/api-server/encoding/view.ts'
import { shownObject } from '../../../components/api-server/encoding/form.ts'
import { chosen, viewsOf, type Encoding } from '../../../components/api-server/codec/negotiate.ts'
import { readProtobuf } from '../../../components/machinery/protobuf/protobuf-reader.ts'
import { cborItems, framesOf, protobufEvent } from '../../support/binary-forms.ts'

const { pods } = resourcesOf(dialects.kubernetes)
const view = objectView(pods)
const protobuf = protobufForm(view, schemaOf('core/v1.Pod'), 'application/x')
const gone = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  reason: 'Expired',
  message: 'too old',
  code: 410,
}

describe('a watch', () => {
  it('that ends with an error says so in its own form', () => {
    expect(JSON.parse(jsonForm(view).error(gone).toString())).toEqual({
      type: 'ERROR',
      object: gone,
    })
    expect(cborItems(cbor.form(view).error(gone))).toEqual([{ type: 'ERROR', object: gone }])
    const [frame = Buffer.alloc(0)] = framesOf(protobuf.error(gone)).frames
    const { type, object } = protobufEvent(frame)
    expect({ type, kind: object.kind, apiVersion: object.apiVersion }).toEqual({
      type: 'ERROR',
      kind: 'Status',
      apiVersion: 'v1',
    })
    expect(readProtobuf(schemaOf('meta/v1.Status'), object.raw)).toMatchObject({
      reason: 'Expired',
      code: 410,
    })
  })

  it('says in each form how far it has come', () => {
    const expected = { kind: 'Pod', apiVersion: 'v1', metadata: { resourceVersion: '7' } }
    const json = JSON.parse(jsonForm(view).bookmark('7').toString()) as unknown
    expect(json).toEqual({ type: 'BOOKMARK', object: expected })
    expect(cborItems(cbor.form(view).bookmark('7'))).toEqual([json])
    const [frame = Buffer.alloc(0)] = framesOf(protobuf.bookmark('7')).frames
    const { type, object } = protobufEvent(frame)
    expect(type).toBe('BOOKMARK')
    expect(readProtobuf(schemaOf('core/v1.Pod'), object.raw)['metadata']).toMatchObject({
      resourceVersion: '7',
    })
  })

  it('of Tables shows its columns once, in JSON and in CBOR', () => {
    const table = tableView(pods, printerOf(pods), {
      apiVersion: 'meta.k8s.io/v1',
      include: 'Metadata',
      now: () => 0,
    })
    const pod = shownObject({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a' } })
    for (const form of [jsonForm(table), cbor.form(table)]) {
      const columnsOf = (bytes: Buffer): number => {
        const [event] = form.mediaType.endsWith('json')
          ? [JSON.parse(bytes.toString())]
          : (cborItems(bytes) as [{ object: { columnDefinitions: unknown[] } }])
        return event.object.columnDefinitions.length
      }
      expect(columnsOf(form.firstFrame?.('ADDED', pod) ?? Buffer.alloc(0))).toBeGreaterThan(3)
      expect(columnsOf(form.frame('ADDED', pod))).toBe(0)
    }
  })
})

describe('kept encodings', () => {
  const shown = (name: string) => shownObject({ metadata: { name } })
  const half = Buffer.alloc(512 * 1024)

  it('are found again by entry and form', () => {
    const kept = new Encodings()
    const one = shown('a')
    kept.keep(one, 'x', half)
    expect(kept.find(one, 'x')).toBe(half)
    expect(kept.find(one, 'y')).toBeUndefined()
    expect(kept.find(shown('a'), 'x')).toBeUndefined()
  })

  it('keep no memory alive that they share with anything but objects', () => {
    const kept = new Encodings()
    const entry = shown('a')
    kept.keep(entry, 'protobuf', Buffer.from('a message'))
    const found = kept.find(entry, 'protobuf')
    expect(found?.toString()).toBe('a message')
    expect(found?.buffer.byteLength).toBeLessThanOrEqual(16 * 1024)
  })

  it('never hold more than 32 MB; the oldest go first, the largest are not kept at all', () => {
    const kept = new Encodings()
    const entries = Array.from({ length: 100 }, (_, index) => shown(String(index)))
    for (const entry of entries) kept.keep(entry, 'x', half)
    const found = entries.map((entry) => kept.find(entry, 'x') !== undefined)
    expect(found.filter(Boolean)).toHaveLength(64)
    expect(found.slice(36).every(Boolean)).toBe(true)
    const large = shown('large')
    kept.keep(large, 'x', Buffer.alloc(2 * 1024 * 1024))
    expect(kept.find(large, 'x')).toBeUndefined()
  })
})

describe('negotiation', () => {
  const encodings: readonly Encoding[] = ['json', 'yaml', 'protobuf', 'cbor']
  const word = fc.constantFrom(
    ...['*/*', '*', 'application/*', 'application/json', 'application/yaml', 'application/cbor'],
    ...['application/vnd.kubernetes.protobuf', 'text/html', ';', ',', '=', '"', 'q=', '0.5', 'q=x'],
    ...['as=Table', 'g=meta.k8s.io', 'v=v1', 'stream=watch', 'pretty=1', ' ', '/', '__proto__=1'],
  )

  it('takes any header, and chooses only what is offered', () => {
    const header = fc.array(fc.oneof({ weight: 5, arbitrary: word }, fc.string()), {
      maxLength: 30,
    })
    fc.assert(
      fc.property(header, fc.subarray([...encodings]), fc.boolean(), (words, some, isStream) => {
        const text = words.join('')
        const offer = { encodings: some, views: viewsOf({ hasTable: true }), isStream }
        const choice = chosen(text, offer, dialects.kubernetes)
        if (typeof choice === 'string') return
        const isPlain = text === '' || text === 'application/json'
        expect(isPlain || some.includes(choice.encoding)).toBe(true)
        expect(isStream && choice.encoding === 'yaml').toBe(false)
        expect(choice.encoding === 'protobuf' && choice.view === 'Table').toBe(false)
      }),
      { numRuns: 2000 },
    )
  })

  it('of a header as long as can be is read in one go', () => {
    const long = Array.from({ length: 4000 }, (_, index) => `a/b${index};q=0.${index}`).join(',')
    const offer = { encodings, views: viewsOf({ hasTable: true }), isStream: false }
    const startedAt = performance.now()
    expect(chosen(long, offer, dialects.kubernetes)).toBe('unknown type')
    expect(performance.now() - startedAt).toBeLessThan(10_000)
  })
})

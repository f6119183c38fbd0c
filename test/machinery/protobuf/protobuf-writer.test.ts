/** Bytes that upstream's generated code writes, worked out field by field from its .proto files. */
import { describe, expect, it } from 'vitest'
import { schemaOf } from '../../../components/api/schemas.ts'
import {
  readProtobuf,
  readProtobufEnvelope,
} from '../../../components/machinery/protobuf/protobuf-reader.ts'
import {
  protobufFieldLength,
  protobufHead,
  protobufWrapper,
  writeProtobuf,
} from '../../../components/machinery/protobuf/protobuf-writer.ts'

/** `0a 01 'x' 12 00` -> bytes: hexadecimal numbers, and texts in quotes. */
function bytes(text: string): Buffer {
  const parts = text.trim().match(/'[^']*'|[0-9a-f]{2}/g) ?? []
  return Buffer.concat(
    parts.map((part) =>
      part.startsWith("'") ? Buffer.from(part.slice(1, -1)) : Buffer.from(part, 'hex'),
    ),
  )
}

/** Name, then the fields that have no pointer: seven that are empty, and an unset time. */
const emptyMeta = "0a 01 'a' 12 00 1a 00 22 00 2a 00 32 00 38 00 42 00"

describe('writing protobuf', () => {
  it('fields come in order of number, with the zero values of those that are no pointers', () => {
    const object = {
      data: { b: '2', a: '1' },
      metadata: { name: 'a' },
      immutable: false,
      binaryData: { x: '/w==', empty: '' },
    }
    expect(writeProtobuf(schemaOf('core/v1.ConfigMap'), object)).toEqual(
      bytes(`0a 11 ${emptyMeta}
        12 06 0a 01 'a' 12 01 '1'
        12 06 0a 01 'b' 12 01 '2'
        1a 09 0a 05 'empty' 12 00
        1a 06 0a 01 'x' 12 01 ff
        20 00`),
    )
    expect(writeProtobuf(schemaOf('core/v1.ConfigMap'), { metadata: { name: 'a' } })).toEqual(
      bytes(`0a 11 ${emptyMeta}`),
    )
  })

  it('times have seconds, micro times also what is below', () => {
    const lease = {
      metadata: { name: 'a', creationTimestamp: '1970-01-01T00:00:00Z' },
      spec: { renewTime: '2001-09-09T01:46:40.000123Z', leaseDurationSeconds: -1 },
    }
    expect(writeProtobuf(schemaOf('coordination/v1.Lease'), lease)).toEqual(
      bytes(`0a 15 0a 01 'a' 12 00 1a 00 22 00 2a 00 32 00 38 00 42 04 08 00 10 00
        12 17 10 ff ff ff ff ff ff ff ff ff 01
          22 0a 08 80 94 eb dc 03 10 f8 c0 07`),
    )
  })

  it('ports are messages with a type, a number and a text', () => {
    const port = (targetPort: number | string) =>
      writeProtobuf(schemaOf('core/v1.ServicePort'), { port: 80, targetPort })
    expect(port('http')).toEqual(bytes("0a 00 12 00 18 50 22 0a 08 01 10 00 1a 04 'http' 28 00"))
    expect(port(8080)).toEqual(bytes('0a 00 12 00 18 50 22 07 08 00 10 90 3f 1a 00 28 00'))
  })

  it('quantities are texts in a message of their own', () => {
    const limits = { limits: { memory: '1Gi' } }
    expect(writeProtobuf(schemaOf('core/v1.ResourceRequirements'), limits)).toEqual(
      bytes("0a 0f 0a 06 'memory' 12 05 0a 03 '1Gi'"),
    )
  })

  it('embedded structs are messages of their own, also when nothing is in them', () => {
    const volume = { name: 'v', emptyDir: {} }
    expect(writeProtobuf(schemaOf('core/v1.Volume'), volume)).toEqual(
      bytes("0a 01 'v' 12 04 12 02 0a 00"),
    )
    expect(writeProtobuf(schemaOf('core/v1.SecretKeySelector'), { key: 'k' })).toEqual(
      bytes("0a 02 0a 00 12 01 'k'"),
    )
  })

  it('any JSON is kept as its text', () => {
    const revision = { metadata: { name: 'a' }, data: { x: [1, null] }, revision: 3 }
    expect(writeProtobuf(schemaOf('apps/v1.ControllerRevision'), revision)).toEqual(
      bytes(`0a 11 ${emptyMeta} 12 10 0a 0e '{"x":[1,null]}' 18 03`),
    )
    const managed = { manager: 'm', fieldsV1: { 'f:a': {} } }
    expect(writeProtobuf(schemaOf('meta/v1.ManagedFieldsEntry'), managed)).toEqual(
      bytes(`0a 01 'm' 12 00 1a 00 32 00 3a 0c 0a 0a '{"f:a":{}}' 42 00`),
    )
  })

  it('lists as values of maps are messages of their own', () => {
    const user = { username: 'u', extra: { k: ['1', '2'] } }
    expect(writeProtobuf(schemaOf('authentication/v1.UserInfo'), user)).toEqual(
      bytes("0a 01 'u' 12 00 22 0b 0a 01 'k' 12 06 0a 01 '1' 0a 01 '2'"),
    )
  })

  it('structs that JSON writes in one of two forms have a field for each', () => {
    const schema = schemaOf('apiextensions/v1.JSONSchemaPropsOrBool')
    expect(writeProtobuf(schema, true)).toEqual(bytes('08 01'))
    expect(writeProtobuf(schema, false)).toEqual(bytes('08 00'))
    const some = writeProtobuf(schema, { type: 'string' })
    expect(some.subarray(0, 3)).toEqual(Buffer.from([0x08, 0x01, 0x12]))
    for (const value of [true, false]) {
      expect(readProtobuf(schema, writeProtobuf(schema, value))).toEqual(value)
    }
  })

  it('texts beyond ASCII, long ones and large numbers are written whole', () => {
    const schema = schemaOf('core/v1.ConfigMap')
    const data = { a: 'é', b: '\u{1F600}'.repeat(50_000), c: 'x'.repeat(200_000) }
    const back = readProtobuf(schema, writeProtobuf(schema, { metadata: {}, data }))
    expect(back['data']).toEqual(data)
    const condition = { observedGeneration: 2 ** 53 - 1 }
    const of = schemaOf('meta/v1.Condition')
    expect(readProtobuf(of, writeProtobuf(of, condition))).toMatchObject(condition)
  })

  it('a value that cannot be written leaves nothing in the next one', () => {
    const schema = schemaOf('apps/v1.ControllerRevision')
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    const revision = { metadata: { name: 'a' }, data: circular, revision: 3 }
    expect(() => writeProtobuf(schema, revision)).toThrow(TypeError)
    expect(writeProtobuf(schemaOf('core/v1.ServicePort'), { port: 80, targetPort: 1 })).toEqual(
      bytes('0a 00 12 00 18 50 22 06 08 00 10 01 1a 00 28 00'),
    )
  })

  it('the envelope has kind and apiVersion, the message and two empty texts', () => {
    const { head, tail } = protobufWrapper('v1', 'Pod')
    const body = Buffer.concat([head(3), Buffer.from('abc'), tail])
    expect(body).toEqual(bytes("6b 38 73 00 0a 09 0a 02 'v1' 12 03 'Pod' 12 03 'abc' 1a 00 22 00"))
    expect(readProtobufEnvelope(body)).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      raw: Buffer.from('abc'),
      contentEncoding: '',
      contentType: '',
    })
  })

  it('the length of a field is that of its tag, its own length and its bytes', () => {
    for (const [number, length] of [
      [1, 0],
      [15, 127],
      [16, 128],
      [2, 16_383],
      [2, 16_384],
      [3000, 3_000_000],
    ] as const) {
      expect(protobufFieldLength(number, length)).toBe(protobufHead(number, length).length + length)
    }
  })
})

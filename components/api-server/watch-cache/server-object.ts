/**
 * server-object: what API servers keep in a store for each other, which no client reads: `masterleases`, `ranges`. Written as JSON,
 * read as JSON or as the protobuf of a kube-apiserver on the same etcd, which reads both, too.
 */
import { schemaOf } from '../../api/schemas.ts'
import {
  protobufMagic,
  readProtobuf,
  readProtobufEnvelope,
} from '../../machinery/protobuf/protobuf-reader.ts'

type ServerKind = 'Endpoints' | 'RangeAllocation'

/** `fields` beside kind and apiVersion, which are of core/v1. */
export function writeServerObject(kind: ServerKind, fields: object): Buffer {
  return Buffer.from(JSON.stringify({ kind, apiVersion: 'v1', ...fields }))
}

/** The fields; undefined for what no server has written. */
export function readServerObject(
  kind: ServerKind,
  value: Buffer,
): Readonly<Record<string, unknown>> | undefined {
  try {
    if (!value.subarray(0, protobufMagic.length).equals(protobufMagic)) {
      const object = JSON.parse(value.toString()) as Record<string, unknown> | null
      return object?.['kind'] === kind ? object : undefined
    }
    const envelope = readProtobufEnvelope(value)
    if (envelope.kind !== kind) return undefined
    return readProtobuf(schemaOf(`core/v1.${kind}`), envelope.raw)
  } catch {
    // What it says is known from elsewhere, or written anew.
    return undefined
  }
}

/** namedBody: what a body of a request says of its object's name, as JSON or in Kubernetes' protobuf. */
import { protobufFields } from '../../components/component-base/grpc/protobuf-fields.ts'

interface Named {
  readonly metadata?: { readonly name?: string; readonly generateName?: string }
}

/** Before the envelope, a `runtime.Unknown` (apimachinery/pkg/runtime/serializer/protobuf). */
const magic = Buffer.from('k8s\0')
/** In the envelope the object; in every object its metadata; in those the two names. */
const raw = 2
const metadata = 1
const name = 1
const generateName = 2

function bytesAt(message: Buffer, number: number): Buffer {
  for (const field of protobufFields(message))
    if (field.number === number && Buffer.isBuffer(field.value)) return field.value
  return Buffer.alloc(0)
}

function namedProtobuf(body: Buffer): Named {
  const of = bytesAt(bytesAt(body.subarray(magic.length), raw), metadata)
  return {
    metadata: {
      name: bytesAt(of, name).toString(),
      generateName: bytesAt(of, generateName).toString(),
    },
  }
}

/** Undefined for YAML, for no body, and for one that cannot be read: then the path alone says what the request is about. */
export function namedBody(body: Buffer): Named | undefined {
  try {
    if (body.subarray(0, magic.length).equals(magic)) return namedProtobuf(body)
    return JSON.parse(body.toString()) as Named
  } catch {
    return undefined
  }
}

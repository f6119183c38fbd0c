/** Logged objects: bodies of requests and answers, whatever their encoding, as the values that records hold. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { findSchema } from '../../api/schemas.ts'
import { readProtobuf, readProtobufEnvelope } from '../../machinery/protobuf/protobuf-reader.ts'
import type { RequestContext } from '../request/request.ts'

const unzip = promisify(gunzip)

/** A longer compressed body is not recorded: it may be another server's and inflate to any size. */
const maxOutputLength = 32 * 1024 * 1024

type Fields = Record<string, unknown>

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fromProtobuf(bytes: Buffer, { resource }: RequestContext): unknown {
  const { kind, apiVersion, raw } = readProtobufEnvelope(bytes)
  const name = kind || resource?.kind || ''
  const schema = findSchema(`${resource?.package ?? ''}.${name}`) ?? findSchema(`meta/v1.${name}`)
  return schema === undefined ? undefined : { kind, apiVersion, ...readProtobuf(schema, raw) }
}

async function decoded(bytes: Buffer, type: string, context: RequestContext): Promise<unknown> {
  if (type.endsWith('protobuf')) return fromProtobuf(bytes, context)
  if (type.endsWith('cbor')) return context.cbor?.read(bytes)
  if (type.endsWith('yaml')) return (await context.yaml.read(bytes, { isLenient: true })).value
  return JSON.parse(bytes.toString())
}

/** The value without `metadata.managedFields`, of its items too. Changes the value. */
function withoutManagedFields(value: unknown): unknown {
  if (!isFields(value)) return value
  if (isFields(value['metadata'])) delete value['metadata']['managedFields']
  if (Array.isArray(value['items'])) value['items'].forEach(withoutManagedFields)
  return value
}

/** Undefined unless the bytes are an object in an encoding that the server supports. */
export async function loggedObject(
  bytes: Buffer,
  context: RequestContext,
  more: {
    /** The value of the Content-Type header. */
    contentType: string | undefined
    contentEncoding?: string | undefined
    omitManagedFields: boolean
  },
): Promise<unknown> {
  const [type = ''] = (more.contentType ?? '').split(';', 1)
  try {
    const plain = more.contentEncoding === 'gzip' ? await unzip(bytes, { maxOutputLength }) : bytes
    if (plain.length === 0) return undefined
    const value = await decoded(plain, type.trim().toLowerCase(), context)
    if (typeof value !== 'object' || value === null) return undefined
    return more.omitManagedFields ? withoutManagedFields(value) : value
  } catch {
    return undefined // not what its type says: there is nothing to show
  }
}

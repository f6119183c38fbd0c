/** encode-value: a value that was answered as JSON, in the encoding the client prefers: Statuses, reviews, discovery. */
import type { Dialect } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import { findSchema } from '../../api/schemas.ts'
import { remembered } from '../../machinery/values/remembered.ts'
import { apiVersionOf } from '../../machinery/objects/resource.ts'
import type { StructSchema } from '../../machinery/schema/schema.ts'
import type { Representation } from './negotiate.ts'
import type { RequestContext } from '../request/request.ts'
import { protobufBody } from '../encoding/protobuf-form.ts'

/** The facts' packages by group version. */
const packagesOf = remembered(
  (dialect: Dialect): ReadonlyMap<string, string> =>
    new Map(resourcesOf(dialect).all.map((resource) => [apiVersionOf(resource), resource.package])),
)

/** Kinds that belong to every group, as Status does, are of the meta group. */
function schemaOfKind(
  typed: { apiVersion: string; kind: string },
  dialect: Dialect,
): StructSchema | undefined {
  const { apiVersion, kind } = typed
  const own = packagesOf(dialect).get(apiVersion)
  const found = own === undefined ? undefined : findSchema(`${own}.${kind}`)
  return found ?? (apiVersion === 'v1' ? findSchema(`meta/v1.${kind}`) : undefined)
}

/** The body in that representation; undefined when the value has no such form. */
export function encodeValue(
  value: Record<string, unknown>,
  { encoding, pretty }: Representation,
  { dialect, cbor, yaml }: Pick<RequestContext, 'dialect' | 'cbor' | 'yaml'>,
): Buffer | Promise<Buffer> | undefined {
  const { kind, apiVersion = 'v1' } = value
  const isTyped = typeof kind === 'string' && typeof apiVersion === 'string'
  const schema = isTyped ? schemaOfKind({ apiVersion, kind }, dialect) : undefined
  switch (encoding) {
    case 'json':
      return Buffer.from(`${JSON.stringify(value, null, pretty ? 2 : 0)}\n`)
    case 'yaml':
      return yaml.write(Buffer.from(JSON.stringify(value)))
    case 'protobuf':
      return schema && isTyped ? protobufBody(schema, value, { apiVersion, kind }) : undefined
    case 'cbor':
      return cbor?.body(value, schema)
  }
}

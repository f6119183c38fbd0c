/** OpenAPI version 2 as a protobuf message (gnostic's openapi.v2.Document), which older clients ask for. */
import type { JsonObject } from './definitions.ts'
import {
  anyValue,
  asText,
  bytesField,
  count,
  double,
  type Encode,
  flag,
  many,
  message,
  named,
  namedEntry,
  one,
  text,
  texts,
} from './protobuf-writer.ts'

const schema: Encode = (value) => encodeSchema(value)

const encodeSchema = message(
  {
    $ref: text(1),
    format: text(2),
    title: text(3),
    description: text(4),
    default: one(5, anyValue),
    multipleOf: double(6),
    maximum: double(7),
    exclusiveMaximum: flag(8),
    minimum: double(9),
    exclusiveMinimum: flag(10),
    maxLength: count(11),
    minLength: count(12),
    pattern: text(13),
    maxItems: count(14),
    minItems: count(15),
    uniqueItems: flag(16),
    maxProperties: count(17),
    minProperties: count(18),
    required: texts(19),
    enum: many(20, anyValue),
    additionalProperties: one(21, (value) =>
      typeof value === 'boolean'
        ? Buffer.from([2 * 8, value ? 1 : 0])
        : bytesField(1, schema(value) ?? Buffer.alloc(0)),
    ),
    type: one(22, (value) => bytesField(1, asText(value) ?? Buffer.alloc(0))),
    items: one(23, (value) => bytesField(1, schema(value) ?? Buffer.alloc(0))),
    allOf: many(24, schema),
    properties: one(25, named(1, schema)),
    example: one(30, anyValue),
  },
  31,
)

const bodyParameter = message(
  { description: text(1), name: text(2), in: text(3), required: flag(4), schema: one(5, schema) },
  6,
)

const queryParameter = message(
  {
    required: flag(1),
    in: text(2),
    description: text(3),
    name: text(4),
    type: text(6),
    uniqueItems: flag(20),
  },
  23,
)

const pathParameter = message(
  {
    required: flag(1),
    in: text(2),
    description: text(3),
    name: text(4),
    type: text(5),
    uniqueItems: flag(19),
  },
  22,
)

/** The nested messages that tell the kinds of parameters apart. */
const parameter: Encode = (value) => {
  const place = (value as { in: string }).in
  const inner = (encode: Encode) => encode(value) ?? Buffer.alloc(0)
  if (place === 'body') return bytesField(1, bytesField(1, inner(bodyParameter)))
  const nonBody =
    place === 'query' ? bytesField(3, inner(queryParameter)) : bytesField(4, inner(pathParameter))
  return bytesField(1, bytesField(2, nonBody))
}

const response = message(
  {
    description: text(1),
    schema: one(2, (value) => bytesField(1, schema(value) ?? Buffer.alloc(0))),
  },
  5,
)

const operation = message(
  {
    tags: texts(1),
    description: text(3),
    operationId: text(5),
    produces: texts(6),
    consumes: texts(7),
    parameters: many(8, parameter),
    responses: one(
      9,
      named(1, (value) => bytesField(1, response(value) ?? Buffer.alloc(0))),
    ),
    schemes: texts(10),
  },
  13,
)

const pathItem = message(
  {
    get: one(2, operation),
    put: one(3, operation),
    post: one(4, operation),
    delete: one(5, operation),
    options: one(6, operation),
    head: one(7, operation),
    patch: one(8, operation),
    parameters: many(9, parameter),
  },
  10,
)

const info = message({ title: text(1), version: text(2) }, 7)

const apiKey = message({ type: text(1), name: text(2), in: text(3), description: text(4) }, 5)

const security = message(
  {
    swagger: text(1),
    info: one(2, info),
    security: many(
      12,
      named(1, (value) =>
        Buffer.concat((value as string[]).map((entry) => bytesField(1, Buffer.from(entry)))),
      ),
    ),
    securityDefinitions: one(
      13,
      named(1, (value) => bytesField(2, apiKey(value) ?? Buffer.alloc(0))),
    ),
  },
  16,
)

/** How many paths or definitions are written before other requests get their turn. */
const batch = 100

/** The bytes of the document; `pause` is awaited now and then. */
export async function encodeDocument(
  document: JsonObject,
  pause: () => Promise<void>,
): Promise<Buffer> {
  const { paths, definitions, ...rest } = document
  const encodeAll = async (values: unknown, field: number, encode: Encode) => {
    const parts: Buffer[] = []
    for (const [name, value] of Object.entries(values as JsonObject)) {
      parts.push(bytesField(field, namedEntry(name, encode(value) ?? Buffer.alloc(0))))
      if (parts.length % batch === 0) await pause()
    }
    return Buffer.concat(parts)
  }
  return Buffer.concat([
    security(rest) ?? Buffer.alloc(0),
    bytesField(8, await encodeAll(paths, 2, pathItem)),
    bytesField(9, await encodeAll(definitions, 1, schema)),
  ])
}

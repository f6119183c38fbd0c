/** OpenAPI: which document answers which path. Documents are made when first asked for, and kept as bytes. */
import { createHash } from 'node:crypto'
import type { Dialect } from '../../api/dialect.ts'
import { schemaData } from '../../api/generated/schema-data.ts'
import type { Resource } from '../../machinery/resource.ts'
import { loadDescriptions } from './descriptions.ts'
import {
  type CustomKind,
  definitionContext,
  documentName,
  type GroupVersion,
  groupVersionsOf,
} from './group-version.ts'
import { capital } from './names.ts'
import { buildV2 } from './v2.ts'
import { buildV3 } from './v3.ts'

export interface OpenApiDocument {
  readonly contentType: string
  readonly body: Buffer
  readonly etag: string
}

export interface OpenApiOptions {
  readonly dialect: Dialect
  /** The resources that are served; documents are made anew when this value is another one. */
  readonly resources: () => readonly Resource[]
  /** The kinds of custom resources that are served; documents are made anew when this value is another one. */
  readonly custom?: () => readonly CustomKind[]
  /** The version of the server, as `/version` shows it. */
  readonly serverVersion: string
  /** Lets other requests go first, between the parts of a large document. */
  readonly pause: () => Promise<void>
}

/** Answers `/openapi/v2`, `/openapi/v3` and `/openapi/v3/<group version>`; undefined for other paths. */
export type OpenApi = (path: string, accept: string) => Promise<OpenApiDocument | undefined>

/** Everything that was made for one set of resources. */
interface Generation {
  readonly resources: readonly Resource[]
  readonly custom: readonly CustomKind[]
  readonly groupVersions: readonly GroupVersion[]
  readonly documents: Map<string, Promise<OpenApiDocument>>
}

const noCustom: readonly CustomKind[] = []

/** The documents of a server. */
export function createOpenApi(options: OpenApiOptions): OpenApi {
  let current: Generation | undefined
  const generation = () => {
    const resources = options.resources()
    const custom = options.custom?.() ?? noCustom
    if (current?.resources !== resources || current.custom !== custom) {
      const groupVersions = groupVersionsOf(resources, custom)
      current = { resources, custom, groupVersions, documents: new Map() }
    }
    return current
  }
  return async (path, accept) => {
    const from = generation()
    const make = makerOf(path, accept, from, options)
    if (make === undefined) return undefined
    const { key, build } = make
    const known = from.documents.get(key)
    if (known !== undefined) return await known
    const made = build()
    from.documents.set(key, made)
    // A failed attempt is not kept: the next request tries again.
    made.catch(() => from.documents.delete(key))
    return await made
  }
}

interface Maker {
  readonly key: string
  readonly build: () => Promise<OpenApiDocument>
}

/** OpenAPI 2 as a protobuf message: what clients ask for, and what is answered, as `@` is not allowed in a media type. */
const protobufV2 = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
const answeredProtobufV2 = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

function makerOf(
  path: string,
  accept: string,
  from: Generation,
  options: OpenApiOptions,
): Maker | undefined {
  if (path === '/openapi/v2') {
    if (!wantsProtobuf(accept)) return { key: path, build: () => v2Json(from, options) }
    return { key: `${path} protobuf`, build: () => v2Protobuf(from, options) }
  }
  if (path === '/openapi/v3') {
    const build = () => Promise.resolve(jsonDocument(indexOf(from.groupVersions, options)))
    return { key: path, build }
  }
  const found = from.groupVersions.find((entry) => path === `/openapi/v3/${documentName(entry)}`)
  if (found === undefined) return undefined
  return { key: path, build: () => v3Json(found, from, options) }
}

/** Protobuf when it is named and JSON is not named before it. */
function wantsProtobuf(accept: string): boolean {
  const protobuf = accept.indexOf(protobufV2)
  const json = accept.indexOf('application/json')
  return protobuf >= 0 && (json < 0 || protobuf < json)
}

function infoOf({ dialect, serverVersion }: OpenApiOptions): { title: string; version: string } {
  return { title: capital(dialect.name), version: serverVersion }
}

async function v3Json(
  from: GroupVersion,
  { resources: all }: Generation,
  options: OpenApiOptions,
): Promise<OpenApiDocument> {
  const { dialect, pause } = options
  const texts = await loadDescriptions()
  await pause()
  const context = definitionContext({ version: 3, dialect, texts, all })
  const document = buildV3(from, context, infoOf(options))
  await pause()
  return jsonDocument(document)
}

async function v2(from: Generation, options: OpenApiOptions) {
  const { dialect, pause } = options
  const texts = await loadDescriptions()
  const context = definitionContext({ version: 2, dialect, texts, all: from.resources })
  return await buildV2(from.groupVersions, context, { info: infoOf(options), pause })
}

async function v2Json(from: Generation, options: OpenApiOptions): Promise<OpenApiDocument> {
  return jsonDocument(await v2(from, options))
}

async function v2Protobuf(from: Generation, options: OpenApiOptions): Promise<OpenApiDocument> {
  const { encodeDocument } = await import('./v2-protobuf.ts')
  const body = await encodeDocument(await v2(from, options), options.pause)
  return { contentType: answeredProtobufV2, body, etag: etagOf(body) }
}

/** The index of version 3. The hash in an address changes with what the document is made of. */
function indexOf(all: readonly GroupVersion[], options: OpenApiOptions): unknown {
  const paths = all.map((entry) => {
    const name = documentName(entry)
    return [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hashOf(entry, options)}` }]
  })
  return { paths: Object.fromEntries(paths) as unknown }
}

function hashOf(entry: GroupVersion, { dialect, serverVersion }: OpenApiOptions): string {
  schemasHash ??= hexHash(Object.values(schemaData).join('\n'))
  return hexHash(JSON.stringify([dialect, serverVersion, entry, schemasHash]))
}

let schemasHash: string | undefined

function hexHash(data: string | Buffer): string {
  return createHash('sha512').update(data).digest('hex').toUpperCase()
}

function jsonDocument(value: unknown): OpenApiDocument {
  const body = Buffer.from(JSON.stringify(value))
  return { contentType: 'application/json', body, etag: etagOf(body) }
}

function etagOf(body: Buffer): string {
  return `"${hexHash(body)}"`
}

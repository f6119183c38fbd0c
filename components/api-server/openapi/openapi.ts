/** OpenAPI: which document answers which path. Documents are made when first asked for, and kept as bytes. */
import { createHash } from 'node:crypto'
import type { Dialect } from '../../api/dialect.ts'
import { schemaData } from '../../api/generated/schema-data.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { loadDescriptions, type Descriptions } from './descriptions.ts'
import {
  type CustomKind,
  definitionContext,
  documentName,
  type GroupVersion,
  groupVersionsOf,
} from './group-version.ts'
import { capital } from './names.ts'
import { mergedV2, type ExtensionOpenApi } from './merged-v2.ts'
import { buildV2 } from './v2.ts'
import { buildV3 } from './v3.ts'

export interface OpenApiDocument {
  readonly contentType: string
  readonly body: Buffer
  /** Its entity tag, and what addresses of it may name. */
  readonly hash: string
}

export interface OpenApiOptions {
  readonly dialect: Dialect
  /** The resources that are served; documents are made anew when this value is another one. */
  readonly resources: () => readonly Resource[]
  /** The kinds of custom resources that are served; documents are made anew when this value is another one. */
  readonly custom?: () => readonly CustomKind[]
  /** Whether CBOR is served. */
  readonly cbor?: boolean
  /** What extension API servers say, by `group/version`; documents are made anew when this value is another one. */
  readonly extensions?: () => ReadonlyMap<string, ExtensionOpenApi>
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
  readonly extensions: ReadonlyMap<string, ExtensionOpenApi>
  /** Without those that are served elsewhere. */
  readonly groupVersions: readonly GroupVersion[]
  readonly documents: Map<string, Promise<OpenApiDocument>>
}

const noCustom: readonly CustomKind[] = []
const noExtensions: ReadonlyMap<string, ExtensionOpenApi> = new Map()

/** What documents are made of besides resources; loaded or computed with the first document that needs it. */
interface Sources extends OpenApiOptions {
  readonly texts: () => Promise<Descriptions>
  /** The hash of all built-in schemas. */
  readonly schemasHash: () => string
}

function sourcesOf(options: OpenApiOptions): Sources {
  let texts: Promise<Descriptions> | undefined
  let schemasHash: string | undefined
  return {
    ...options,
    texts: () => (texts ??= loadDescriptions()),
    schemasHash: () => (schemasHash ??= hexHash(Object.values(schemaData).join('\n'))),
  }
}

/** The documents of a server. */
export function createOpenApi(options: OpenApiOptions): OpenApi {
  const sources = sourcesOf(options)
  let current: Generation | undefined
  const generation = () => {
    const resources = options.resources()
    const custom = options.custom?.() ?? noCustom
    const extensions = options.extensions?.() ?? noExtensions
    const isSame = current?.resources === resources && current.custom === custom
    if (current === undefined || !isSame || current.extensions !== extensions) {
      const groupVersions = groupVersionsOf(resources, custom).filter(
        ({ group, version }) => !extensions.has(`${group}/${version}`),
      )
      current = { resources, custom, extensions, groupVersions, documents: new Map() }
    }
    return current
  }
  return async (path, accept) => {
    const from = generation()
    const make = makerOf(path, accept, from, sources)
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
  options: Sources,
): Maker | undefined {
  if (path === '/openapi/v2') {
    if (!wantsProtobuf(accept)) return { key: path, build: () => v2Json(from, options) }
    return { key: `${path} protobuf`, build: () => v2Protobuf(from, options) }
  }
  if (path === '/openapi/v3') {
    const build = () => Promise.resolve(jsonDocument(indexOf(from, options)))
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
  options: Sources,
): Promise<OpenApiDocument> {
  const { dialect, cbor = false, pause } = options
  const texts = await options.texts()
  await pause()
  const context = definitionContext({ version: 3, dialect, cbor, texts, all })
  const document = buildV3(from, context, infoOf(options))
  await pause()
  // The index names the document by this hash before it is made.
  return { ...jsonDocument(document), hash: hashOf(from, options) }
}

async function v2(from: Generation, options: Sources) {
  const { dialect, cbor = false, pause } = options
  const texts = await options.texts()
  const context = definitionContext({ version: 2, dialect, cbor, texts, all: from.resources })
  return await buildV2(from.groupVersions, context, { info: infoOf(options), pause })
}

async function v2Json(from: Generation, options: Sources): Promise<OpenApiDocument> {
  return jsonDocument(mergedV2(await v2(from, options), from.extensions.values()))
}

async function v2Protobuf(from: Generation, options: Sources): Promise<OpenApiDocument> {
  const { encodeDocument } = await import('./v2-protobuf.ts')
  const own = await v2(from, options)
  const merged = mergedV2(own, from.extensions.values())
  const body = await encodeDocument(merged, options.pause).catch((error: unknown) => {
    if (merged === own) throw error
    // What an extension API server says of itself may be of any form: without it the others' is whole.
    return encodeDocument(own, options.pause)
  })
  return { contentType: answeredProtobufV2, body, hash: hexHash(body) }
}

/** The index of version 3. The hash in an address changes with what the document is made of. */
function indexOf({ groupVersions, extensions }: Generation, options: Sources): unknown {
  const paths = groupVersions.map((entry) => {
    const name = documentName(entry)
    return [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hashOf(entry, options)}` }]
  })
  const elsewhere = Array.from(extensions).flatMap(([groupVersion, { v3Address }]) => {
    const [group = '', version = ''] = groupVersion.split('/')
    if (v3Address === undefined) return []
    return [[documentName({ group, version }), { serverRelativeURL: v3Address }]]
  })
  return { paths: Object.fromEntries([...paths, ...elsewhere]) as unknown }
}

function hashOf(entry: GroupVersion, options: Sources): string {
  const { dialect, cbor, serverVersion, schemasHash } = options
  return hexHash(JSON.stringify([dialect, cbor, serverVersion, entry, schemasHash()]))
}

function hexHash(data: string | Buffer): string {
  return createHash('sha512').update(data).digest('hex').toUpperCase()
}

function jsonDocument(value: unknown): OpenApiDocument {
  const body = Buffer.from(JSON.stringify(value))
  return { contentType: 'application/json', body, hash: hexHash(body) }
}

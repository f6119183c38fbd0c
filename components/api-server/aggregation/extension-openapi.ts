/** extension-openapi: the OpenAPI of an extension API server: its part of version 2, and the address of its version 3. */
import type { JsonObject } from '../openapi/definitions.ts'
import type { ExtensionSwagger } from '../openapi/merged-v2.ts'
import type { RemoteApiService } from './api-service-table.ts'
import { discoveryPath } from './availability.ts'
import type { ExtensionReader } from './extension-reader.ts'

interface Ask {
  readonly extensions: ExtensionReader
  readonly signal: AbortSignal
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const definitionPrefix = '#/definitions/'

/** The names of definitions that a value refers to. */
function referredNames(value: unknown, into = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const item of value) referredNames(item, into)
  else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      if (key === '$ref' && typeof item === 'string' && item.startsWith(definitionPrefix)) {
        into.add(item.slice(definitionPrefix.length))
      } else referredNames(item, into)
    }
  }
  return into
}

/** The paths of the group version, and the definitions that they refer to. */
function swaggerOf(document: unknown, remote: RemoteApiService): ExtensionSwagger {
  const own = discoveryPath(remote)
  const { paths, definitions } = isObject(document) ? document : {}
  const kept = Object.entries(isObject(paths) ? paths : {}).filter(
    ([path, item]) => (path === own || path.startsWith(`${own}/`)) && isObject(item),
  )
  const all = isObject(definitions) ? definitions : {}
  const needed: Record<string, unknown> = {}
  const waiting = [...referredNames(kept.map(([, item]) => item))]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (Object.hasOwn(needed, name) || !isObject(all[name])) continue
    needed[name] = all[name]
    waiting.push(...referredNames(all[name]))
  }
  return { paths: Object.fromEntries(kept) as JsonObject, definitions: needed as JsonObject }
}

/** Undefined when the server has no such document. Rejects when it does not answer. */
export async function readSwagger(
  remote: RemoteApiService,
  { extensions, signal, etag }: Ask & { readonly etag: string | undefined },
): Promise<{ swagger: ExtensionSwagger; etag: string | undefined } | 'same' | undefined> {
  const path = '/openapi/v2'
  const answer = await extensions.get(remote, { path, accept: 'application/json', etag, signal })
  if (answer.status === 304) return 'same'
  if (answer.status !== 200) return undefined
  return { swagger: swaggerOf(JSON.parse(answer.body.toString()), remote), etag: answer.etag }
}

/**
 * The address of the group version in the server's index of version 3; undefined when it is absent. Rejects when the server
 * does not answer.
 */
export async function readV3Address(
  remote: RemoteApiService,
  { extensions, signal }: Ask,
): Promise<string | undefined> {
  const path = '/openapi/v3'
  const answer = await extensions.get(remote, { path, accept: 'application/json', signal })
  if (answer.status !== 200) return undefined
  const document: unknown = JSON.parse(answer.body.toString())
  const paths = isObject(document) ? document['paths'] : undefined
  const entry = isObject(paths) ? paths[discoveryPath(remote).slice(1)] : undefined
  const address = isObject(entry) ? entry['serverRelativeURL'] : undefined
  const own = `/openapi/v3${discoveryPath(remote)}`
  if (typeof address !== 'string' || address.split('?', 1)[0] !== own) return undefined
  return address
}

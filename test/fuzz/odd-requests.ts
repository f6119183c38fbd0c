/** Random requests: odd in one or two places, sound everywhere else, so that they get far into the server. */
import { schemaOf } from '../../components/api/schemas.ts'
import { apiVersionOf, type Resource } from '../../components/machinery/objects/resource.ts'
import type { StructSchema } from '../../components/machinery/schema/schema.ts'
import { damaged, oddCbor, oddProtobuf, oddYaml } from './encodings.ts'
import { mutated, oddOf } from './odd-objects.ts'
import { jsonPatch, mergePatch, strategicPatch } from './odd-patches.ts'
import { oddJson, oddText } from './odd-values.ts'
import type { Random } from './random.ts'

export interface OddRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** A kind and a sound object of it, which exists on the server. */
export interface Target {
  readonly resource: Resource
  /** The collection's path. */
  readonly path: string
  readonly object: { readonly metadata: { readonly name: string } }
}

export interface World {
  readonly targets: readonly Target[]
  readonly apiDomain: string
  readonly protobuf: string
  /** Continue tokens and versions that the server gave out. */
  readonly tokens: readonly string[]
  readonly versions: readonly string[]
}

function query(random: Random, world: World): string {
  const value = (): string =>
    random.pick([
      oddText(random),
      oddText(random),
      '1',
      'true',
      'All',
      'Exact',
      'NotOlderThan',
      'Strict',
      'a=b,c!=d,e in (f),!g',
      'metadata.name=a',
      'spec.nodeName!=b\\,c',
      random.pick(world.versions),
      random.pick(world.tokens),
      damaged(random, Buffer.from(random.pick(world.tokens))).toString('latin1'),
    ])
  const names = [
    'limit',
    'continue',
    'resourceVersion',
    'resourceVersionMatch',
    'labelSelector',
    'fieldSelector',
    'watch',
    'timeoutSeconds',
    'allowWatchBookmarks',
    'sendInitialEvents',
    'dryRun',
    'fieldManager',
    'fieldValidation',
    'force',
    'pretty',
    'timeout',
    'gracePeriodSeconds',
    'propagationPolicy',
    'orphanDependents',
    'includeObject',
    'ignoreStoreReadErrorWithClusterBreakingPotential',
  ]
  return random
    .many(3, () => {
      const name = random.chance(0.9) ? random.pick(names) : oddText(random)
      const text = value()
      return `${encodeURIComponent(sound(name))}=${random.chance(0.05) ? '%zz' : encodeURIComponent(sound(text))}`
    })
    .join('&')
}

/** Lone surrogates have no form in a URL. */
const sound = (text: string): string => text.toWellFormed()

const headerSafe = (text: string): string => text.replaceAll(/[^\t\x20-\x7e]/g, '?').trim()

function oddHeaders(random: Random, world: World): Record<string, string> {
  if (random.chance(0.8)) return {}
  const meta = `meta.${world.apiDomain}`
  const name = random.pick([
    'accept',
    'accept',
    'accept',
    'accept-encoding',
    'content-encoding',
    'if-match',
    'if-none-match',
    'range',
    'user-agent',
    random.pick(['impersonate-user', 'impersonate-group', 'impersonate-extra-a%2fb']),
    'x-remote-user',
    'x-request-id',
    'audit-id',
    'expect',
    'origin',
    'traceparent',
    'warning',
  ])
  const accepts = [
    'application/json',
    'application/yaml',
    'application/cbor',
    'application/cbor-seq',
    `application/cbor;as=Table;v=v1;g=${meta}`,
    `application/cbor;as=PartialObjectMetadata;v=v1;g=${meta}`,
    `application/yaml;as=Table;v=v1;g=${meta}`,
    'multipart/mixed',
    'application/*;q=0.5, multipart/form-data; boundary=x',
    world.protobuf,
    `${world.protobuf};stream=watch`,
    `application/json;as=Table;v=v1;g=${meta}`,
    `application/json;as=PartialObjectMetadataList;v=v1;g=${meta}`,
    `application/json;as=PartialObjectMetadata;v=v1;g=${meta}`,
    `${world.protobuf};as=Table;v=v1;g=${meta}`,
    'application/json;q=0,*/*;q=0.1',
    'application/json;q=NaN',
    `${'a/b,'.repeat(500)}*/*`,
    '*/*;as=Table',
    'text/html',
  ]
  const value = name === 'accept' && random.chance(0.8) ? random.pick(accepts) : oddText(random)
  return { [name]: headerSafe(value) }
}

interface Body {
  readonly type: string
  readonly bytes: Buffer
}

const json = (type: string, value: unknown): Body => ({
  type: `application/${type}`,
  bytes: Buffer.from(JSON.stringify(value) ?? ''),
})

/** What a request must say about itself to be looked at more closely. */
function named(
  object: unknown,
  as: { apiVersion: string; kind: string; name: string },
): Record<string, unknown> {
  const { apiVersion, kind, name } = as
  const rest = typeof object === 'object' && object !== null ? object : {}
  const metadata = 'metadata' in rest ? rest.metadata : undefined
  const kept = typeof metadata === 'object' ? metadata : {}
  return {
    ...rest,
    apiVersion,
    kind,
    metadata: { ...kept, name, namespace: undefined, uid: undefined, resourceVersion: undefined },
  }
}

function objectBody(random: Random, world: World, target: Target, schema: StructSchema): Body {
  const apiVersion = apiVersionOf(target.resource)
  const { name } = target.object.metadata
  const value = random.chance(0.6)
    ? mutated(random, target.object, schema)
    : named(oddOf(random, schema, 6), { apiVersion, kind: target.resource.kind, name })
  if (random.chance(0.15)) {
    return { type: world.protobuf, bytes: oddProtobuf(random, schema, { apiVersion, name }) }
  }
  return encoded(random, value)
}

/** A value in one of the encodings that any value has. */
function encoded(random: Random, value: unknown): Body {
  if (random.chance(0.55)) return json('json', value)
  return random.chance(0.5)
    ? { type: 'application/yaml', bytes: Buffer.from(oddYaml(random, value)) }
    : { type: 'application/cbor', bytes: oddCbor(random, value) }
}

function patchBody(random: Random, target: Target, schema: StructSchema): Body {
  const roll = random.int(4)
  if (roll === 0) return json('json-patch+json', jsonPatch(random, target.object))
  if (roll === 1) return json('merge-patch+json', mergePatch(random, schema))
  if (roll === 2) return json('strategic-merge-patch+json', strategicPatch(random, schema))
  const { resource, object } = target
  const { kind } = resource
  const apiVersion = apiVersionOf(resource)
  const { name } = object.metadata
  const as = { apiVersion, kind, name }
  const applied = named({ ...object, ...(mergePatch(random, schema) as object) }, as)
  if (random.chance(0.3)) {
    return { type: 'application/apply-patch+cbor', bytes: oddCbor(random, applied) }
  }
  const bytes = Buffer.from(random.chance(0.5) ? JSON.stringify(applied) : oddYaml(random, applied))
  return { type: 'application/apply-patch+yaml', bytes }
}

function spoiled(random: Random, body: Body): Body {
  const type = random.chance(0.05)
    ? random.pick([
        'text/plain',
        'application/cbor',
        'application/cbor-seq',
        'application/apply-patch+cbor',
        'application/apply-patch+json',
        'application/yaml',
        'application/json, application/yaml',
        'application/JSON ; Charset="utf-16"',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'multipart/mixed; boundary="application/json"',
        'application/vnd.kubernetes.protobuf;stream=watch',
        'nonsense',
        'application/json; charset=x',
        ';',
      ])
    : body.type
  return { type, bytes: random.chance(0.1) ? damaged(random, body.bytes) : body.bytes }
}

/** One request, by its own randomness alone. */
export function oddRequest(random: Random, world: World): OddRequest {
  const target = random.pick(world.targets)
  const { resource, object } = target
  const schema = schemaOf(`${resource.package}.${resource.kind}`)
  const usual = random.pick([
    'GET',
    'GET',
    'POST',
    'POST',
    'PUT',
    'PUT',
    'PATCH',
    'PATCH',
    'PATCH',
    'DELETE',
  ])
  const method = random.chance(0.99) ? usual : random.pick(oddMethods)
  const name = random.chance(0.95)
    ? object.metadata.name
    : encodeURIComponent(sound(oddText(random)))
  const isOnItem =
    method === 'PUT' || method === 'PATCH' || random.chance(method === 'POST' ? 0.1 : 0.5)
  const subresources = resource.subresources.filter(({ name: sub }) => !connects.has(sub))
  const subresource =
    isOnItem && subresources.length > 0 && random.chance(0.3)
      ? `/${random.pick(subresources).name}`
      : ''
  let path = isOnItem ? `${target.path}/${name}${subresource}` : target.path
  if (random.chance(0.03)) {
    path = damaged(random, Buffer.from(path))
      .toString('latin1')
      .replaceAll(/[^\x21-\x7e]|#/g, '_')
    if (!path.startsWith('/')) path = `/${path}`
  }
  const isQueried = method === 'GET' || random.chance(0.3)
  const asked = isQueried ? query(random, world) : ''
  // Unless the options are the point, nothing is stored: what is sound stays for those who come later.
  const dry = method === 'DELETE' && random.chance(0.7) ? 'dryRun=All' : ''
  const full = [asked, dry].filter(Boolean).join('&')
  const headers = oddHeaders(random, world)
  if (method === 'GET' || method === 'HEAD') {
    return { method, path: `${path}?${full}`, headers, body: undefined }
  }
  const body = spoiled(
    random,
    method === 'PATCH'
      ? patchBody(random, target, schema)
      : method === 'DELETE'
        ? encoded(random, oddOf(random, schemaOf('meta/v1.DeleteOptions'), 3))
        : subresource === '' || random.chance(0.5)
          ? objectBody(random, world, target, schema)
          : encoded(random, random.chance(0.5) ? object : oddJson(random)),
  )
  // Without a manager an apply goes no further than its options.
  const manager =
    body.type.startsWith('application/apply-patch') && random.chance(0.9)
      ? random.pick(['fieldManager=fuzz', 'fieldManager=fuzz&force=true'])
      : ''
  const options = [full, manager].filter(Boolean).join('&')
  return {
    method,
    path: options === '' ? path : `${path}?${options}`,
    headers: { 'content-type': body.type, ...headers },
    body: body.bytes,
  }
}

const oddMethods = ['HEAD', 'OPTIONS', 'TRACE', 'QUERY', 'constructor', 'toString', '__proto__']

/** These reach for nodes that are not there: their 5xx are others' faults. */
const connects = new Set(['proxy', 'exec', 'attach', 'portforward', 'log'])
